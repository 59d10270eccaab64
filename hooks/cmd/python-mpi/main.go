// Command python-mpi is python through mpiimport's start script: `python-mpi app.py` on the host, by any rank or task. Where
// a snapshot of the program was prepared, it leads to that.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/jobnotes"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/pythonscript"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/version"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/internal/process/snapshotstart"
)

const (
	name     = "python-mpi"
	askImage = "--image"
)

// The first that PATH has is started.
var pythons = []string{"python", "python3"}

func main() {
	version.Print()
	words := os.Args[1:]
	if len(words) > 2 && words[0] == askImage {
		tellKey(words[1], words[2:])
		return
	}
	if len(words) > 1 && (words[0] == snapshotstart.Beside || words[0] == snapshotstart.Until) {
		goOnBeside(words[0], words[1:])
	}
	back := ""
	if len(words) > 0 && (words[0] == snapshotstart.Fresh || words[0] == snapshotstart.Renew) {
		back, words = words[0], words[1:]
		jobnotes.ComeBack(os.Environ())
	}
	isAbsolute := len(words) > 0 && words[0] == entry.Absolute
	if isAbsolute {
		words = words[1:]
	}
	env := os.Environ()
	python := snapshotstart.Usual
	if len(words) > 1 && words[0] == snapshotstart.Python {
		python, words = words[1], words[2:]
		if isAbsolute {
			python = entry.Named([]string{python}, env)[0]
		}
	}
	options, words := pythonsOptions(words)
	if python == snapshotstart.Usual {
		python, options, words = commandOnPath(python, options, words, env)
	}
	start := options
	if installed, err := prefix.Of(); err == nil {
		env = withoutSite(installed, env)
		words, env = withoutSnapshot(installed, python, back, options, words, env)
		start = append(start, "-S", prefix.StartScript(installed))
	} else {
		fmt.Fprintf(os.Stderr, "mpiimport: running as plain Python: %v\n", err)
	}
	if python != snapshotstart.Usual {
		pythons = []string{python}
	}
	if rest := start[len(options):]; len(rest) > 0 && len(words) > 1 && slices.Equal(words[:2], rest) {
		fmt.Fprintf(os.Stderr, "%s: the %s on PATH leads to %s again; put the directory of a Python first\n", name, os.Args[0], name)
		os.Exit(entry.NotExecutable)
	}
	entry.Exit(name, become(append(start, words...), env))
}

// withoutSite takes the directory of our sitecustomize off PYTHONPATH, for the program has no part in it. A process that is no
// rank hands it on: the Pythons that it starts find their own snapshots by it.
func withoutSite(installed string, env []string) []string {
	given, _ := environ.Get(env, "PYTHONPATH")
	rest := environ.DropPath(env, "PYTHONPATH", prefix.SiteDirectory(installed))
	if left, _ := environ.Get(rest, "PYTHONPATH"); left != given && !rankenv.IsRank(env) {
		return environ.Set(rest, ourvars.Path, given)
	}
	return rest
}

// Options of Python that no flag of mpiimport is called by: those without a value, and those with one.
var (
	ofPython          = []string{snapshotstart.Unbuffered, "-O", "-OO", "-B", "-b", "-bb", "-E", "-P", "-q", "-s"}
	ofPythonWithValue = []string{"-W", "-X"}
)

// Flags of mpiimport that take the next word, as those options of Python do.
var withValue = append([]string{"-I", "-T", "--report"}, ofPythonWithValue...)

// pythonsOptions returns those of Python, and the words without them: flags of mpiimport may stand between.
func pythonsOptions(words []string) ([]string, []string) {
	var options, flags []string
	for len(words) > 2 && words[0] == snapshotstart.Option {
		options, words = append(options, words[1]), words[2:]
	}
	for taken := flagWords(words); taken > 0 && taken < len(words); taken = flagWords(words) {
		if slices.Contains(ofPython, words[0]) || slices.Contains(ofPythonWithValue, words[0][:2]) {
			options = append(options, words[:taken]...)
		} else {
			flags = append(flags, words[:taken]...)
		}
		words = words[taken:]
	}
	return options, append(flags, words...)
}

// flagWords returns how many words a flag in front of the program takes; 0 where the program stands there.
func flagWords(words []string) int {
	switch {
	case len(words) == 0 || len(words[0]) < 2 || words[0][0] != '-':
		return 0
	case strings.HasPrefix(words[0], "-m") || strings.HasPrefix(words[0], "-c"):
		return 0
	case slices.Contains(withValue, words[0]):
		return 2
	}
	return 1
}

// commandOnPath looks for a program that is no file in the current directory where a shell looks for commands. For a
// script of Python it returns which Python that names, with its options, and the script's path on the line; it
// changes nothing for all else.
func commandOnPath(python string, options, words, env []string) (string, []string, []string) {
	place := 0
	for place < len(words) && flagWords(words[place:]) > 0 {
		place += flagWords(words[place:])
	}
	if place >= len(words) || words[place] == "" || words[place][0] == '-' || strings.Contains(words[place], "/") {
		return python, options, words
	}
	if _, err := os.Lstat(words[place]); err == nil {
		return python, options, words
	}
	for _, file := range entry.Candidates(words[place], env) {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		script := pythonscript.Interpreter(file)
		if script == nil {
			break
		}
		words = slices.Concat(words[:place], []string{file}, words[place+1:])
		if filepath.Base(script[0]) == name {
			return python, options, words
		}
		return script[0], slices.Concat(script[1:], options), words
	}
	return python, options, words
}

// withoutSnapshot returns only where the program does not start from a snapshot, or is to have one made: then with the words and the
// environment of a start by Python. back: with which word the starter has come back, if it has.
func withoutSnapshot(installed, python, back string, options, words, env []string) ([]string, []string) {
	rest, handed := snapshotstart.Options(words, env)
	if snapshotstart.Makes(handed) {
		key, _, _ := snapshotstart.Key(installed, python, options, rest, handed)
		return rest, environ.Set(environ.Set(handed, ourvars.Asked, key), ourvars.Python, python)
	}
	if back != snapshotstart.Fresh {
		prepared, early := snapshotstart.FindPrepared(installed, python, options, rest, handed)
		if prepared == nil {
			if early == nil && ourvars.PreparesAlways(handed) {
				snapshotstart.Prepare(installed, python, options, rest, handed)
			}
			if early == nil {
				if other := snapshotstart.PreparedOtherwise(installed, python, options, rest, handed); other != nil {
					sayNone(other, installed, python, options, rest, handed)
					return plainly(python, rest, handed)
				}
			}
			sayNone(early, installed, python, options, rest, handed)
			return snapshotstart.Plain(words), env
		}
		if back == snapshotstart.Renew {
			snapshotstart.Prepare(installed, python, options, rest, handed)
			prepared = prepared.Base()
		}
		startPrepared(prepared.Command(installed, python, options, rest, handed), handed)
	}
	// It fits no more.
	snapshotstart.Prepare(installed, python, options, rest, handed)
	return plainly(python, rest, handed)
}

// plainly returns the words and the environment of a process that is not served: other ranks may start from a snapshot, and wait for
// nobody.
func plainly(python string, words, env []string) ([]string, []string) {
	return snapshotstart.Plain(words), environ.Set(env, ourvars.Python, python)
}

// goOnBeside does not return.
func goOnBeside(word string, words []string) {
	installed, err := prefix.Of()
	switch {
	case err != nil:
	case word == snapshotstart.Until:
		err = snapshotstart.RunUntil(installed, words)
	default:
		err = snapshotstart.GoOnBeside(installed, words, os.Environ())
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// sayNone says why no snapshot is used yet, or, where people want to know, that none is there.
func sayNone(early error, installed, python string, options, words, env []string) {
	if !snapshotstart.Speaks(installed, env) {
		return
	}
	if early != nil {
		fmt.Fprintf(os.Stderr, "mpiimport: the snapshot is not used: %v\n", early)
		return
	}
	if !ourvars.IsOn(env, ourvars.Verbose) {
		return
	}
	if why := snapshotstart.WhyNone(installed, python, options, words, env); why != "" {
		fmt.Fprintf(os.Stderr, "mpiimport: no snapshot is used: %s; mpiimport snapshot list shows what is prepared\n", why)
	}
}

// startPrepared returns only where the starter cannot be executed.
func startPrepared(command, env []string) {
	jobnotes.LeadToSnapshot(env)
	if err := entry.Execute(command, env); rankenv.SpeaksForJob(env) {
		fmt.Fprintf(os.Stderr, "mpiimport: the snapshot is not used: %v\n", err)
	}
}

// tellKey prints for the maker of a snapshot its key, the name of its program, that by which scripts that begin alike find its base,
// and what the key is made of. For a module the third line is empty.
func tellKey(python string, program []string) {
	installed, err := prefix.Of()
	options, words := pythonsOptions(program)
	key, facts := "", []snapshotstart.Fact{}
	if err == nil {
		key, facts, err = snapshotstart.Key(installed, python, options, words, os.Environ())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(key)
	fmt.Println(snapshotstart.NameDigest(snapshotstart.NameIn(facts)))
	fmt.Println(snapshotstart.Begin(facts, words))
	fmt.Println(snapshotstart.Facts(facts))
}

// become returns only if there is no Python to start.
func become(words, env []string) error {
	var failure error
	for _, python := range pythons {
		failure = entry.Execute(append([]string{python}, words...), env)
		var refused entry.NotStarted
		if !errors.As(failure, &refused) || refused.Status != entry.NotFound {
			break
		}
	}
	return failure
}
