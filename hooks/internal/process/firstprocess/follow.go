package firstprocess

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/leaves/ignored"
)

// Follow starts file, waits for it, and returns how it ended. It has what it would have if this process had become it:
// signals that this one is sent, the terminal, standard files, and its own end where this one is killed. The caller's
// thread is its parent, so it has to be locked.
func Follow(file string, argv, env []string) (syscall.WaitStatus, error) {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, ignored.Others()...)
	if signal.Ignored(syscall.SIGCHLD) {
		signal.Notify(signals, syscall.SIGCHLD)
		file, argv = "/proc/self/exe", append([]string{argv[0], IgnoringChildren, file}, argv...)
	}
	files := make([]uintptr, 3)
	for number := range files {
		files[number] = uintptr(number)
		if ignored.IsClosed(number) {
			files[number] = ^uintptr(0)
		}
	}
	terminal := openTerminal()
	child, err := syscall.ForkExec(file, argv, &syscall.ProcAttr{
		Env:   env,
		Files: files,
		Sys: &syscall.SysProcAttr{
			Setpgid:    true,
			Foreground: terminal.foreground() == syscall.Getpgrp(),
			Ctty:       terminal.descriptor,
			Pdeathsig:  syscall.SIGKILL,
		},
	})
	if err != nil {
		return 0, err
	}
	if these := ignored.Signals(); len(these) > 0 {
		signal.Notify(signals, these...)
	}
	go forward(signals, child, terminal)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(child, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case status.Stopped():
			stopped(child, status.StopSignal(), terminal)
		default:
			terminal.move(child, syscall.Getpgrp())
			return status, nil
		}
	}
}

// EndAs ends this process as the command has ended.
func EndAs(status syscall.WaitStatus) {
	if !status.Signaled() {
		os.Exit(status.ExitStatus())
	}
	// The command has written a core file, if any is wanted.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	signal.Reset(status.Signal())
	_ = syscall.Kill(os.Getpid(), status.Signal())
	os.Exit(128 + int(status.Signal()))
}
