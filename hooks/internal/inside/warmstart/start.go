// Package warmstart leads a program to its warm image, where one is kept on this node.
package warmstart

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/keptplace"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/version"
)

// Words in front of the script that people need not know; the starter of images has them, too: see warm/command.h.
const (
	Fresh  = "--fresh"  // there was no image to start from
	Python = "--python" // the name of the Python to start follows, in the place of the usual ones
	Option = "--option" // an option of Python follows, or its value
)

// Unbuffered is the only option of Python with which a program starts from an image: from one that was made with it.
const Unbuffered = "-u"

// key is the starter's word in front of that by which this package knows the program.
const key = "--key"

// Usual stands for the names that python-mpi tries where it is told none.
const Usual = "-"

// others are options with which a program is started otherwise.
var others = []string{"DEBUG", "RECORD", "VERBOSE", "REPORT", fill}

const fill = "FILL"

// Wanted says whether the program, a script or -m and a module with its arguments, is to start from an image if there is one.
func Wanted(words []string, env []string) bool {
	if !isOn(env) || program(words) == nil {
		return false
	}
	for _, name := range others {
		if on(env, name) {
			return false
		}
	}
	return true
}

// Leads says whether a program with these options of Python goes by the door: where it may start from an image, or where a
// file is named, so that it is said why it does not.
func Leads(options, env []string) bool { return Fits(options) || ourvars.WarmFile(env) != "" }

// Fits says whether there are images of programs with these options.
func Fits(options []string) bool {
	return len(options) == 0 || len(options) == 1 && options[0] == Unbuffered
}

// program returns what of a command line names a script, or a module: -m and its name. It is nil for all else.
func program(words []string) []string {
	switch {
	case len(words) == 0 || words[0] == "":
	case words[0][0] != '-':
		return words[:1]
	case words[0] == module && len(words) > 1:
		return words[:2]
	case strings.HasPrefix(words[0], module) && words[0] != module:
		return []string{module, words[0][len(module):]}
	}
	return nil
}

// module is Python's option in front of the name of a module.
const module = "-m"

// Makes says whether the image of the program is to be made.
func Makes(env []string) bool { return isOn(env) && on(env, fill) }

// IsForTasks says whether a task that is no rank starts as ranks do: where an image is wanted, and may be there. A kept store
// belongs to one way of starting, so this holds for all of its programs.
func IsForTasks(env []string) bool {
	keep, _ := environ.Get(env, ourvars.Keep)
	return isOn(env) && (on(env, fill) || ourvars.WarmFile(env) != "" || keep != "" && keep != "never")
}

func isOn(env []string) bool {
	mode, _ := environ.Get(env, ourvars.Mode)
	return mode != "0" && ourvars.IsWarm(env)
}

func on(env []string, option string) bool {
	value, _ := environ.Get(env, ourvars.OptionPrefix+option)
	return value != "" && value != "0"
}

// Command returns by which key the program is known, and what starts it from its image, or why there is none. The starter comes
// back to python-mpi where the image turns out not to fit.
func Command(installed, python string, options, words, env []string) (string, []string, error) {
	if !Fits(options) {
		return "", nil, fmt.Errorf("python has options, and there are images without, or with %s alone: %s", Unbuffered, strings.Join(options, " "))
	}
	name, err := Key(installed, python, options, words, env)
	if err != nil {
		return "", nil, err
	}
	command := []string{prefix.Starter(installed), "--door", prefix.Door(installed)}
	if python != Usual {
		command = append(command, Python, python)
	}
	for _, option := range options {
		command = append(command, Option, option)
	}
	if !rankenv.SpeaksForJob(env) {
		command = append(command, "--quiet")
	}
	if file := ourvars.WarmFile(env); file != "" {
		return name, append(append(command, key, name, file), words...), nil
	}
	store, err := kept(name, env)
	if err != nil {
		return name, nil, err
	}
	if isVouchedFor(env) {
		command = append(command, "--trusted")
	}
	return name, append(append(command, store), words...), nil
}

// kept returns the store with the image of a program, or why there is none.
func kept(name string, env []string) (string, error) {
	store, found := keptplace.Store(env, name)
	if !found {
		return "", none(env)
	}
	if _, err := os.Lstat(filepath.Join(store, "image")); err != nil {
		if reason, err := os.ReadFile(filepath.Join(store, "refused")); err == nil {
			return "", errors.New(string(reason))
		}
		return "", none(env)
	}
	return store, nil
}

// isVouchedFor says whether the tree is as it was as long as a session lasts. Containers of podman and docker may have changed
// their image each, and of what they mount nothing is told.
func isVouchedFor(env []string) bool {
	keep, _ := environ.Get(env, ourvars.Keep)
	session, _ := environ.Get(env, ourvars.Session)
	image, _ := environ.Get(env, ourvars.Image)
	return (keep == "session" || session != "") && !strings.HasPrefix(image, ourvars.Layers)
}

// ErrNoneYet is no news: in the session of a command the first task has the image made.
var ErrNoneYet = errors.New("none is kept yet")

func none(env []string) error {
	if session, _ := environ.Get(env, ourvars.Session); session != "" {
		return ErrNoneYet
	}
	return errNone
}

var errNone = errors.New("none is kept for this program, as it is started now, on this node; mpiimport session start --warm makes one")

// Key names the image of a program, a script or -m and a module behind options of Python, by what can be told without a look at the tree: whoever
// makes the image asks for it. All else is compared by the starter.
func Key(installed, python string, options, words, env []string) (string, error) {
	given, _ := environ.Get(env, "PATH")
	path := ""
	for _, directory := range filepath.SplitList(given) {
		if !filepath.IsAbs(directory) {
			return "", fmt.Errorf("PATH has an entry that is not the same everywhere: %q", directory)
		}
		// `mpiimport run` puts it there, and no Python lies in it.
		if directory != prefix.Shims(installed) {
			path += string(filepath.ListSeparator) + directory
		}
	}
	name, err := placed(program(words))
	if err != nil {
		return "", err
	}
	root, err := rootOf(env)
	if err != nil {
		return "", err
	}
	facts := []string{version.Number(), installed, python, strings.Join(options, " "), path, name, root}
	sum := sha256.Sum256([]byte(strings.Join(facts, "\x00")))
	return "warm-" + hex.EncodeToString(sum[:]), nil
}

// placed returns the path of a script; or a module, with the current directory if Python may find it there, as for kept stores:
// mpiimport/runtime/store/kept_key.py.
func placed(words []string) (string, error) {
	if len(words) == 0 {
		return "", errors.New("neither a script nor a module is named")
	}
	name := words[len(words)-1]
	if len(words) == 1 && filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	// os.Getwd would ask the file system.
	buffer := make([]byte, syscall.PathMax)
	size, err := syscall.Getcwd(buffer)
	if err != nil {
		return "", fmt.Errorf("the current directory has no name: %w", err)
	}
	here := string(buffer[:size-1])
	if len(words) > 1 {
		if !holds(here, name) {
			here = ""
		}
		return strings.Join([]string{module, name, here}, "\x00"), nil
	}
	return filepath.Join(here, name), nil
}

// holds says whether a directory has anything of the name of a module's top package.
func holds(directory, name string) bool {
	open, err := os.Open(directory)
	if err != nil {
		// Nothing can be imported from it.
		return false
	}
	defer open.Close()
	names, _ := open.Readdirnames(-1)
	top, _, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(names, func(each string) bool {
		first, _, _ := strings.Cut(each, ".")
		return first == top
	})
}

// signs of a container are left by Apptainer and SingularityCE.
var signs = []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}

// rootOf tells one root of the file system from another: that of a container by what the launch plan knows of its image and
// mounts, for each of the ranks may have mounted it by itself. Elsewhere by what is mounted: proc(5), mountinfo. The
// directories that podman and docker make an overlay of are named there.
func rootOf(env []string) (string, error) {
	if image, _ := environ.Get(env, ourvars.Image); strings.HasPrefix(image, ourvars.Layers) {
		// Behind the layers stands when this container was made, and how it is confined: see launch.Kept.
		told := strings.Fields(image)
		if len(told) != 3 {
			return "", errors.New("it is not known how this container is confined")
		}
		return told[0] + " " + told[2], nil
	} else if image != "" {
		return image, nil
	}
	for _, name := range signs {
		if value, _ := environ.Get(env, name); value != "" {
			return "", errors.New("of this container's image nothing is known; start it by --mpiimport, with MPIIMPORT_KEEP=session")
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	found := ""
	for _, line := range strings.Split(string(mounts), "\n") {
		fields := strings.Fields(line)
		if _, what, ok := strings.Cut(line, " - "); ok && fields[4] == "/" {
			found = fields[2] + " " + fields[3] + " " + what
		}
	}
	if found == "" {
		return "", errors.New("it cannot be told what is mounted as the root of this file system")
	}
	return found, nil
}
