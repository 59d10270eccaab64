// Package firstprocess does what falls to the first process of a container: it runs the command as its child, hands
// signals on to it, reaps whatever loses its parent, and ends as the command ended.
package firstprocess

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/leaves/ignored"
)

// IgnoringChildren is the first argument with which Run starts its own program, which is to call Ignore.
const IgnoringChildren = "--ignoring-children"

// Run starts file and returns the status to exit with: the command's own, or 128 and the number of the signal that
// ended it. The command is a process group of its own and has the terminal, if there is one.
func Run(file string, argv, env []string) (int, error) {
	// Before the start, so that no signal is lost. What is ignored the command is to be started with.
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, ignored.Others()...)
	if signal.Ignored(syscall.SIGCHLD) {
		// A command that ended before this process looked after its children would leave no status: it ignores them itself.
		signal.Notify(signals, syscall.SIGCHLD)
		file, argv = "/proc/self/exe", append([]string{argv[0], IgnoringChildren, file}, argv...)
	}
	if os.Getpid() != 1 {
		// Orphans below this process come to it, as all of a container's come to the first.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return 0, os.NewSyscallError("prctl", err)
		}
	}
	terminal := openTerminal()
	child, err := syscall.ForkExec(file, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Foreground: terminal.foreground() == syscall.Getpgrp(), Ctty: terminal.descriptor},
	})
	if err != nil {
		return 0, err
	}
	if these := ignored.Signals(); len(these) > 0 {
		signal.Notify(signals, these...)
	}
	go forward(signals, child, terminal)
	return wait(child, terminal), nil
}

// Ignore makes this process a command that ignores the end of its children: a file and its arguments. It returns only if
// that failed.
func Ignore(command []string) error {
	signal.Ignore(syscall.SIGCHLD)
	return &os.PathError{Op: "exec", Path: command[0], Err: syscall.Exec(command[0], command[1:], os.Environ())}
}

// forward hands on every signal that this process was sent.
func forward(signals <-chan os.Signal, child int, terminal terminal) {
	for received := range signals {
		switch number := received.(syscall.Signal); number {
		case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGTTOU:
			// The first is about our own children; Go's scheduler sends itself the second, the terminal us the third.
		case syscall.SIGCONT:
			// A shell that continues us in its foreground has given us the terminal first.
			terminal.move(syscall.Getpgrp(), child)
			_ = syscall.Kill(-child, number)
		default:
			_ = syscall.Kill(child, number)
		}
	}
}

// wait reaps children until the command has ended.
func wait(child int, terminal terminal) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR, err == nil && pid != child:
		case err != nil:
			return 255
		case status.Stopped():
			stopped(child, status.StopSignal(), terminal)
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// stopped lets our own parent see that the command has stopped, as a shell wants to that job control started from.
func stopped(child int, by syscall.Signal, terminal terminal) {
	switch {
	case os.Getpid() != 1:
		terminal.move(child, syscall.Getpgrp())
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case by == syscall.SIGTSTP:
		// Nobody could continue it: the kernel keeps ^Z from stopping a container's first process, too.
		_ = syscall.Kill(-child, syscall.SIGCONT)
	}
}
