// Command mpiimport-entry stands in front of a container's command and becomes it: python starts through
// mpiimport's start script, everything else gets the environment in which sitecustomize activates.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"mpiimport.org/hooks/internal/adoption"
	"mpiimport.org/hooks/internal/entry"
	"mpiimport.org/hooks/internal/prefix"
)

func init() {
	runtime.LockOSThread() // the main thread becomes the command
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "mpiimport-entry: no command given; usage: mpiimport-entry COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	command := os.Args[1:]
	env, err := adoption.Release(os.Environ())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpiimport-entry: nobody is left to start", command[0], "for:", err)
		os.Exit(status(err))
	}
	// Without /proc nobody can say where we are; the command still runs, as it would without us.
	if installed, err := prefix.Of(); err == nil {
		command, env = entry.Start(command, entry.Process{Prefix: installed, Pid: os.Getpid(), Env: env})
	}
	err = entry.Execute(command, env)
	fmt.Fprintln(os.Stderr, "mpiimport-entry:", err)
	os.Exit(status(err))
}

// status is what the container runtime itself exits with for a command that it cannot start.
func status(err error) int {
	for _, name := range []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"} {
		if os.Getenv(name) != "" {
			return 255
		}
	}
	var refused entry.NotStarted
	if errors.As(err, &refused) {
		return refused.Status
	}
	return entry.NotExecutable
}
