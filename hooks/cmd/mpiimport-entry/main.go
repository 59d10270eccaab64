// Command mpiimport-entry stands in front of a container's command and becomes it: python starts through
// mpiimport's start script, everything else gets the environment in which sitecustomize activates. As the first
// process of a container, or with --init, it stays: as the parent of a second one that becomes the command.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"mpiimport.org/hooks/internal/adoption"
	"mpiimport.org/hooks/internal/entry"
	"mpiimport.org/hooks/internal/firstprocess"
	"mpiimport.org/hooks/internal/prefix"
)

const usage = "usage: mpiimport-entry [--init] COMMAND [ARGUMENT...]"

func init() {
	runtime.LockOSThread() // the main thread becomes the command
}

func main() {
	command := os.Args[1:]
	stays := os.Getpid() == 1
	if len(command) > 0 && command[0] == "--init" {
		stays, command = true, command[1:]
	}
	if len(command) == 0 {
		fmt.Fprintln(os.Stderr, "mpiimport-entry: no command given;", usage)
		os.Exit(2)
	}
	if stays {
		ended, err := firstprocess.Run("/proc/self/exe", append([]string{os.Args[0]}, command...), os.Environ())
		if err == nil {
			os.Exit(ended)
		}
		fmt.Fprintf(os.Stderr, "mpiimport-entry: cannot stay as the first process: %v; is /proc mounted?\n", err)
	}
	become(command)
}

// become returns only in that it exits, where the command could not be started.
func become(command []string) {
	env, err := adoption.Release(os.Environ())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpiimport-entry: nobody is left to start", command[0], "for:", err)
		os.Exit(status(err))
	}
	// Without /proc nobody can say where we are; the command still runs, as it would without us.
	if installed, err := prefix.Of(); err == nil {
		process := entry.Process{Prefix: installed, Pid: os.Getpid(), Env: env}
		if apply := entry.Profiled(command, process); apply != nil {
			err := entry.Execute(apply, env)
			fmt.Fprintln(os.Stderr, "mpiimport-entry: cannot apply the profile:", err)
			os.Exit(2)
		}
		command, env = entry.Start(command, process)
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
