// Command mpiimport is what people call. The subcommands that may be called by every rank of a job are here; for the
// others it becomes Python.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"mpiimport.org/hooks/internal/entrypoints/commands"
	"mpiimport.org/hooks/internal/entrypoints/jobend"
	"mpiimport.org/hooks/internal/leaves/environ"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/jobnotes"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/version"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/internal/process/firstprocess"
)

// becoming is the first argument of a process that becomes the command behind it.
const becoming = "--become"

func init() {
	runtime.LockOSThread() // the launcher ends with the thread that has started it
}

// mistake is the status after a command line that cannot be understood.
const mistake = 2

func main() {
	version.Print()
	installed, err := prefix.Of()
	if err != nil {
		fail(err, mistake)
	}
	args := os.Args[1:]
	switch {
	case len(args) > 1 && args[0] == becoming:
		become(args[1:], os.Environ())
	case len(args) > 2 && args[0] == firstprocess.IgnoringChildren:
		fail(firstprocess.Ignore(args[1:]), entry.NotExecutable)
	case len(args) > 0 && (args[0] == "run" || args[0] == "exec"):
		outcome := everyday(args[0], commands.Call{Args: args[1:], Env: os.Environ(), Prefix: installed, Root: os.Geteuid() == 0})
		if args[0] == "run" {
			stay(installed, outcome)
		}
		become(outcome.Args, outcome.Env)
	}
	become(append([]string{prefix.HostPython(installed), "-I", "-m", "mpiimport.host"}, args...), os.Environ())
}

func everyday(name string, call commands.Call) commands.Outcome {
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
	return outcome
}

// stay runs the command of a job as a child, and says at its end what the job got. It returns where that cannot be told, and
// where the command fills a store, and runs no job.
func stay(installed string, outcome commands.Outcome) {
	command, env := outcome.Args, outcome.Env
	if mode, _ := environ.Get(env, ourvars.Mode); mode == "" || mode == "0" || ourvars.IsFilling(env) {
		return
	}
	notes, err := jobnotes.Begin(env)
	if err != nil {
		return
	}
	line := command
	if place := slices.Index(command, "--"); command[0] == prefix.HostPython(installed) && place > 0 {
		line = command[place+1:]
	}
	isSeen := jobend.IsSeen(notes.Path, line, env)
	env, remove := outcome.Sending.Begin(line, env)
	status, err := firstprocess.Follow("/proc/self/exe", append([]string{os.Args[0], becoming}, command...), environ.Set(env, ourvars.Job, notes.Path))
	remove()
	if err != nil {
		notes.Remove()
		return
	}
	job := jobend.Job{Line: line, Env: env, Prefix: installed, Notes: notes.Read(), Shared: isSeen, Launches: commands.StartsRanks(line)}
	notes.Remove()
	if !status.Signaled() && status.ExitStatus() != entry.NotFound && status.ExitStatus() != entry.NotExecutable {
		for _, line := range job.Lines() {
			fmt.Fprintln(os.Stderr, line)
		}
	}
	firstprocess.EndAs(status)
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
