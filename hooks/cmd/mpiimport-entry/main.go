// Command mpiimport-entry stands in front of a container's command and becomes it: python starts through
// mpiimport's start script, everything else gets the environment in which sitecustomize activates. As the first
// process of a container, or with --init, it stays, as the parent of a second one that becomes the command; with
// --no-init it does not. With --absolute the command gets the name that Apptainer and SingularityCE give it.
package main

import (
	"fmt"
	"os"
	"runtime"

	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/jobnotes"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/version"
	"mpiimport.org/hooks/internal/process/adoption"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/internal/process/firstprocess"
)

const (
	name  = "mpiimport-entry"
	usage = "usage: mpiimport-entry [--init | --no-init | --absolute] COMMAND [ARGUMENT...]"
)

func init() {
	runtime.LockOSThread() // the main thread becomes the command
}

func main() {
	version.Print()
	command := os.Args[1:]
	if len(command) > 2 && command[0] == firstprocess.IgnoringChildren {
		entry.Exit(name, firstprocess.Ignore(command[1:]))
	}
	stays := os.Getpid() == 1
	isAbsolute := len(command) > 0 && command[0] == entry.Absolute
	switch {
	case isAbsolute:
		command = command[1:]
	case len(command) > 0 && (command[0] == "--init" || command[0] == "--no-init"):
		stays, command = command[0] == "--init", command[1:]
	}
	if len(command) == 0 {
		fmt.Fprintln(os.Stderr, name+": no command given;", usage)
		os.Exit(2)
	}
	if isAbsolute {
		command = entry.Named(command, os.Environ())
	}
	if stays {
		stay(command)
	}
	become(command)
}

// stay runs the command as a child and exits as it does; it returns only if that failed.
func stay(command []string) {
	// Else each signal that is to be forwarded costs two more changes of threads.
	runtime.UnlockOSThread()
	defer runtime.LockOSThread()
	file, words := "/proc/self/exe", append([]string{os.Args[0]}, command...)
	if installed, err := prefix.Of(); err == nil {
		// The child needs not start twice.
		if apply := entry.Profiled(command, entry.Process{Prefix: installed, Env: os.Environ()}); apply != nil {
			file, words = apply[0], apply
		}
	}
	ended, err := firstprocess.Run(file, words, os.Environ())
	if err == nil {
		os.Exit(ended)
	}
	fmt.Fprintf(os.Stderr, "%s: cannot stay as the first process: %v; is /proc mounted?\n", name, err)
}

// become does not return.
func become(command []string) {
	env, err := adoption.Release(os.Environ())
	if err != nil {
		entry.Exit(name, fmt.Errorf("nobody is left to start %s for: %w", command[0], err))
	}
	// Without /proc nobody can say where we are; the command still runs, as it would without us.
	if installed, err := prefix.Of(); err == nil {
		process := entry.Process{Prefix: installed, Pid: os.Getpid(), Env: env}
		if apply := entry.Profiled(command, process); apply != nil {
			err := entry.Execute(apply, env)
			fmt.Fprintln(os.Stderr, name+": cannot apply the profile:", err)
			os.Exit(2)
		}
		if reason := entry.WouldRun(command, env); reason != "" {
			fmt.Fprintln(os.Stderr, "mpiimport: nothing was run, and nothing is filled:", reason)
			os.Exit(1)
		}
		if rankenv.SpeaksForJob(env) {
			jobnotes.Leave(env, jobnotes.Inside)
		}
		command, env = entry.Start(command, process)
	}
	entry.Exit(name, entry.Execute(command, env))
}
