// Package snapshotstart leads a program to the snapshot that was prepared of it.
package snapshotstart

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
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/version"
)

// Words in front of the script that people need not know; the starter of snapshots has them, too: see restorer/command.h.
const (
	Fresh  = "--fresh"  // there was no snapshot to start from
	Renew  = "--renew"  // of the snapshot the base is left
	Python = "--python" // the name of the Python to start follows, in the place of the usual ones
	Option = "--option" // an option of Python follows, or its value
)

// Unbuffered is the only option of Python with which a program starts from a snapshot: from one that was made with it.
const Unbuffered = "-u"

// Words of the starter: the key by which this package knows the program follows; the base is meant.
const (
	key  = "--key"
	base = "--base"
)

// Usual stands for the names that python-mpi tries where it is told none.
const Usual = "-"

// others are options with which a program is started otherwise.
var others = []string{"DEBUG", "RECORD", "FILL"}

// isStartedUsually says whether a snapshot may be for such a program, and no option has it started otherwise.
func isStartedUsually(words, env []string) bool {
	if program(words) == nil {
		return false
	}
	for _, name := range others {
		if on(env, name) {
			return false
		}
	}
	return true
}

// Options moves mpiimport's own options in front of the program, where a start from a snapshot obeys them, into its environment.
func Options(words, env []string) ([]string, []string) {
	rest, told := words, env
	for isSwitchedOn(env) && len(rest) > 0 {
		name, value, joined := strings.Cut(rest[0], "=")
		switch {
		case rest[0] == "-v":
			rest, told = rest[1:], environ.Set(told, ourvars.OptionPrefix+"VERBOSE", "1")
		case name == "--report" && joined:
			rest, told = rest[1:], environ.Set(told, ourvars.Report, value)
		case name == "--report" && len(rest) > 1:
			rest, told = rest[2:], environ.Set(told, ourvars.Report, rest[1])
		case program(rest) != nil:
			return rest, told
		default:
			return words, env
		}
	}
	return words, env
}

// Fits says whether there are snapshots of programs with these options.
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

// spawned is the last word of a Python that multiprocessing spawns. Here the script that it is to import comes first, then this word
// with = and the start method, and at last what it executes.
const spawned = "--multiprocessing-fork"

func isSpawned(words []string) bool {
	return len(words) > 1 && strings.HasPrefix(words[1], spawned+"=")
}

// Plain returns the words by which Python is started without a snapshot.
func Plain(words []string) []string {
	if isSpawned(words) && len(words) == 3 {
		return []string{"-c", words[2], spawned}
	}
	return words
}

// module is Python's option in front of the name of a module.
const module = "-m"

// Makes says whether the snapshot of the program is to be made.
func Makes(env []string) bool {
	return isSwitchedOn(env) && ourvars.MakesSnapshot(env)
}

// isSwitchedOn says whether a program may start from a snapshot; Python says what is wrong with an odd switch.
func isSwitchedOn(env []string) bool {
	mode, err := ourvars.Switch(env)
	return err == nil && mode != "0"
}

func on(env []string, option string) bool { return ourvars.IsOn(env, ourvars.OptionPrefix+option) }

// starter returns the begin of the command that starts a program from a snapshot. isQuiet: without a word where it is not used.
func starter(installed, python string, options []string, isQuiet bool) []string {
	command := []string{prefix.Starter(installed), "--python-mpi", prefix.PythonMPI(installed)}
	if python != Usual {
		command = append(command, Python, python)
	}
	for _, option := range options {
		command = append(command, Option, option)
	}
	if isQuiet {
		command = append(command, "--quiet")
	}
	return command
}

// Key names the snapshot of a program, a script or -m and a module behind options of Python, by what can be told without a look at
// the tree. The maker of the snapshot asks for it, and for what it is made of. The starter compares all else.
func Key(installed, python string, options, words, env []string) (string, []Fact, error) {
	given, _ := environ.Get(env, "PATH")
	path := ""
	for _, directory := range filepath.SplitList(given) {
		if !filepath.IsAbs(directory) {
			return "", nil, fmt.Errorf("PATH has an entry that is not the same everywhere: %q", directory)
		}
		// `mpiimport run` puts it there, and no Python lies in it.
		if directory != prefix.Shims(installed) {
			path += string(filepath.ListSeparator) + directory
		}
	}
	name, err := nameOf(words)
	if err != nil {
		return "", nil, err
	}
	root, err := rootOf(installed, env)
	if err != nil {
		return "", nil, err
	}
	root, mounts, _ := strings.Cut(root, " ")
	binds, _ := environ.Get(env, "APPTAINER_BIND")
	facts := []Fact{
		{"the version of mpiimport", version.Number(), true},
		{"mpiimport at", installed, true},
		{"the name of Python", python, true},
		{"options of Python", strings.Join(options, " "), true},
		{"PATH", path, true},
		{ofProgram, name, true},
		{ofImage, root, true},
		{ofMounts, mounts, true},
		{"APPTAINER_BIND", binds, false},
	}
	return "program-" + digest(facts), facts, nil
}

// nameOf tells a program from all others, however it is started.
func nameOf(words []string) (string, error) {
	name, err := placed(program(words))
	if isSpawned(words) {
		name += "\x00" + words[1]
	}
	return name, err
}

// NameDigest is the name of the file in a library that says that the program was prepared.
func NameDigest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

func digest(facts []Fact) string {
	sum := sha256.New()
	for _, fact := range facts {
		if fact.Compared {
			sum.Write([]byte(fact.Value + "\x00"))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// placed returns the path of a script; or a module, with the current directory if Python may find it there, as for cached stores:
// mpiimport/runtime/store/key.py.
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

// unknownImage says why nothing is known of a container's image.
func unknownImage(installed string) error {
	const unknown = "of this container's image nothing is known: "
	if installed != prefix.InContainer {
		return errors.New(unknown + "start it by --mpiimport")
	}
	return errors.New(unknown + "the runtime has fetched it, or started it with --overlay; name an image file or a sandbox directory")
}

// signs of a container are left by Apptainer and SingularityCE.
var signs = []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}

const overlay = "overlay"

// rootOf tells one root of the file system from another: that of a container by what the launch plan knows of its image and
// mounts, for each of the ranks may have mounted it by itself. Elsewhere by the kind of file system, which all nodes share; the
// directories that podman and docker make an overlay of are named in proc(5), mountinfo.
func rootOf(installed string, env []string) (string, error) {
	if image, _ := environ.Get(env, ourvars.Image); strings.HasPrefix(image, ourvars.Layers) {
		// Behind the layers stands when this container was made, and how it is confined: see launch.ImageCache.
		told := strings.Fields(image)
		if len(told) != 3 {
			return "", errors.New("it is not known how this container is confined")
		}
		return told[0] + " " + told[2], nil
	} else if image != "" {
		// Of a directory the kind of file system is told in front, which may have another name where the program is prepared.
		if kind, rest, _ := strings.Cut(image, ":"); kind != ourvars.ImageFile {
			image = "directory:" + rest
		}
		return image, nil
	}
	for _, name := range signs {
		if value, _ := environ.Get(env, name); value != "" {
			return "", unknownImage(installed)
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
			found = what
		}
	}
	if found == "" {
		return "", errors.New("it cannot be told what is mounted as the root of this file system")
	}
	kind, _, _ := strings.Cut(found, " ")
	if kind == overlay {
		sum := sha256.Sum256([]byte(found))
		kind += ":" + hex.EncodeToString(sum[:8])
	}
	return kind, nil
}
