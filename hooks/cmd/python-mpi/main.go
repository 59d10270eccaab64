// Command python-mpi is python through mpiimport's start script: `python-mpi app.py` on the host, by any rank or task. Where
// a warm image is wanted and kept, it leads to that.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"mpiimport.org/hooks/internal/inside/entry"
	"mpiimport.org/hooks/internal/inside/warmstart"
	"mpiimport.org/hooks/internal/leaves/environ"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/version"
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
	fresh := len(words) > 0 && words[0] == warmstart.Fresh
	if fresh {
		words = words[1:]
	}
	python := warmstart.Usual
	if len(words) > 1 && words[0] == warmstart.Python {
		python, words = words[1], words[2:]
		pythons = []string{python}
	}
	options, words := pythonsOptions(words)
	env := os.Environ()
	start := options
	if installed, err := prefix.Of(); err == nil {
		// What `mpiimport run` has put there for other starts of Python is no part of this program's variables.
		env = environ.DropPath(env, "PYTHONPATH", prefix.SiteDirectory(installed))
		wanted, makes, key := warmstart.Wanted(words, env), warmstart.Makes(env), ""
		if makes {
			key, _ = warmstart.Key(installed, python, options, words, env)
		} else if wanted && !fresh {
			key = startWarm(installed, python, options, words, env)
		}
		if wanted && warmstart.Fits(options) || makes {
			env = environ.Set(env, ourvars.Python, python)
			env = environ.Set(env, ourvars.Asked, key)
		}
		start = append(start, "-S", prefix.StartScript(installed))
	} else {
		fmt.Fprintf(os.Stderr, "mpiimport: running as plain Python: %v\n", err)
	}
	if rest := start[len(options):]; len(rest) > 0 && len(words) > 1 && slices.Equal(words[:2], rest) {
		fmt.Fprintf(os.Stderr, "%s: the %s on PATH leads to %s again; put the directory of a Python first\n", name, os.Args[0], name)
		os.Exit(entry.NotExecutable)
	}
	entry.Exit(name, become(append(start, words...), env))
}

// pythonsOptions returns those of Python, of which people give -u alone, and the words behind them.
func pythonsOptions(words []string) ([]string, []string) {
	var options []string
	for len(words) > 2 && words[0] == warmstart.Option {
		options, words = append(options, words[1]), words[2:]
	}
	if len(words) > 1 && words[0] == warmstart.Unbuffered {
		options, words = append(options, words[0]), words[1:]
	}
	return options, words
}

// startWarm returns only where the program cannot start from an image, and says why once for the job; it returns by which name
// the program is known.
func startWarm(installed, python string, options, words, env []string) string {
	key, command, err := warmstart.Command(installed, python, options, words, env)
	if err == nil {
		err = entry.Execute(command, env)
	}
	if !errors.Is(err, warmstart.ErrNoneYet) && rankenv.SpeaksForJob(env) {
		fmt.Fprintf(os.Stderr, "mpiimport: no warm image is used: %v (MPIIMPORT_WARM)\n", err)
	}
	return key
}

// tellKey answers whoever makes an image by which name this program looks for it.
func tellKey(python string, program []string) {
	installed, err := prefix.Of()
	key := ""
	if err == nil {
		options, words := pythonsOptions(program)
		key, err = warmstart.Key(installed, python, options, words, os.Environ())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(key)
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
