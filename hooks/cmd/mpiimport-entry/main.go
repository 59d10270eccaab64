// Command mpiimport-entry stands in front of a container's command and becomes it: python starts through
// mpiimport's start script, everything else gets the environment in which sitecustomize activates.
package main

import (
	"errors"
	"fmt"
	"os"

	"mpiimport.org/hooks/internal/entry"
	"mpiimport.org/hooks/internal/prefix"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "mpiimport-entry: no command given; usage: mpiimport-entry COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	command, env := os.Args[1:], os.Environ()
	// Without /proc nobody can say where we are; the command still runs, as it would without us.
	if installed, err := prefix.Of(); err == nil {
		command, env = entry.Start(command, entry.Process{Prefix: installed, Pid: os.Getpid(), Env: env})
	}
	err := entry.Execute(command, env)
	fmt.Fprintln(os.Stderr, "mpiimport-entry:", err)
	os.Exit(status(err))
}

// status is what the container runtime itself exits with for a command that it cannot start.
func status(err error) int {
	for _, runtime := range []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"} {
		if os.Getenv(runtime) != "" {
			return 255
		}
	}
	var refused entry.NotStarted
	if errors.As(err, &refused) {
		return refused.Status
	}
	return entry.NotExecutable
}
