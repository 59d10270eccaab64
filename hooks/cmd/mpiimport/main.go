// Command mpiimport is what people call. The subcommands that may be called by every rank of a job are here; for the
// others it becomes Python.
package main

import (
	"errors"
	"fmt"
	"os"

	"mpiimport.org/hooks/internal/doors/commands"
	"mpiimport.org/hooks/internal/inside/entry"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/version"
)

// mistake is the status after a command line that cannot be understood.
const mistake = 2

func main() {
	version.Print()
	installed, err := prefix.Of()
	if err != nil {
		fail(err, mistake)
	}
	args := os.Args[1:]
	if len(args) > 0 && (args[0] == "run" || args[0] == "exec") {
		become(everyday(args[0], commands.Call{Args: args[1:], Env: os.Environ(), Prefix: installed, Root: os.Geteuid() == 0}))
	}
	become(append([]string{prefix.HostPython(installed), "-I", "-m", "mpiimport.host"}, args...), os.Environ())
}

func everyday(name string, call commands.Call) ([]string, []string) {
	start, usage := call.Run, commands.RunUsage
	if name == "exec" {
		start, usage = call.Exec, commands.ExecUsage
	}
	if len(call.Args) > 0 && (call.Args[0] == "--help" || call.Args[0] == "-h") {
		fmt.Println(usage)
		os.Exit(0)
	}
	outcome, err := start()
	if err != nil {
		fail(err, mistake)
	}
	for _, line := range outcome.LeftOut {
		fmt.Fprintln(os.Stderr, line)
	}
	return outcome.Args, outcome.Env
}

func become(command, env []string) {
	err := entry.Execute(command, env)
	var refused entry.NotStarted
	if errors.As(err, &refused) {
		fail(err, refused.Status)
	}
	fail(err, entry.NotExecutable)
}

func fail(err error, status int) {
	fmt.Fprintln(os.Stderr, "mpiimport:", err)
	os.Exit(status)
}
