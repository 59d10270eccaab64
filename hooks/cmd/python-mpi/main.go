// Command python-mpi is python through mpiimport's start script: `python-mpi app.py` on the host, by any rank or task.
package main

import (
	"errors"
	"fmt"
	"os"

	"mpiimport.org/hooks/internal/inside/entry"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/version"
)

const name = "python-mpi"

// The first that PATH has is started.
var pythons = []string{"python", "python3"}

func main() {
	version.Print()
	var start []string
	if installed, err := prefix.Of(); err == nil {
		start = []string{"-S", prefix.StartScript(installed)}
	} else {
		fmt.Fprintf(os.Stderr, "mpiimport: running as plain Python: %v\n", err)
	}
	words := os.Args[1:]
	if len(start) > 0 && len(words) > 1 && words[0] == start[0] && words[1] == start[1] {
		fmt.Fprintf(os.Stderr, "%s: the %s on PATH leads to %s again; put the directory of a Python first\n", name, os.Args[0], name)
		os.Exit(entry.NotExecutable)
	}
	entry.Exit(name, become(append(start, words...)))
}

// become returns only if there is no Python to start.
func become(words []string) error {
	var failure error
	for _, python := range pythons {
		failure = entry.Execute(append([]string{python}, words...), os.Environ())
		var refused entry.NotStarted
		if !errors.As(failure, &refused) || refused.Status != entry.NotFound {
			break
		}
	}
	return failure
}
