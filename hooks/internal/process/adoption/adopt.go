// Package adoption makes a command our child though a container runtime has started it. The process that Apptainer
// leaves as the parent of a command in an instance passes no signals on: it dies, and the command with it. So the
// entry binary in the container says when it is there; we end that process, and as the nearest one that takes orphans
// we become the parent, who passes signals on.
package adoption

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// ErrNotStarted: the runtime ended before the command was there.
var ErrNotStarted = errors.New("the runtime ended before the command was there")

// Run executes words, by which the entry binary is started at last, and ends as the command does that the entry
// becomes. It returns only if the command was not started.
func Run(words, env []string) error {
	runtime.LockOSThread() // a parent's death is that of its thread
	// Signals that come from now on wait for somebody to get them.
	signals := make(chan os.Signal, 32)
	signal.Notify(signals)
	defer signal.Reset()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	entry := os.NewFile(uintptr(ends[0]), "entry")
	defer func() { _ = entry.Close() }()
	theirs, err := KeepOpen(ends[1])
	if err != nil {
		return err
	}
	for _, prefix := range []string{"APPTAINERENV_", "SINGULARITYENV_"} {
		env = environ.Set(env, prefix+ourvars.Parent, fmt.Sprintf("%d:%d", theirs, os.Getpid()))
	}
	between := exec.Command(words[0], words[1:]...)
	between.Stdin, between.Stdout, between.Stderr, between.Env = os.Stdin, os.Stdout, os.Stderr, env
	between.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = between.Start()
	_ = syscall.Close(theirs)
	if err != nil {
		return err
	}
	var pid [16]byte
	length, _ := entry.Read(pid[:])
	_ = between.Process.Kill()
	_ = between.Wait()
	command, err := strconv.Atoi(string(pid[:length]))
	if err != nil {
		return ErrNotStarted
	}
	_, _ = entry.Write([]byte{'\n'})
	stayWith(command, signals)
	return nil
}

// Our descriptors are put above those that programs expect to get.
const lowestDescriptor = 100

// KeepOpen moves a descriptor out of the way, to where it stays open in what this process becomes or starts.
func KeepOpen(fd int) (int, error) {
	defer func() { _ = syscall.Close(fd) }()
	for _, lowest := range []int{lowestDescriptor, 0} {
		if copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, lowest); err == nil {
			return copied, nil
		}
	}
	return -1, syscall.EMFILE
}

// stayWith passes signals on to the command and ends as it does.
func stayWith(command int, signals chan os.Signal) {
	pass := !sharesTerminal()
	for s := range signals {
		switch s {
		case syscall.SIGURG: // Go's own
		case syscall.SIGCHLD:
			reap(command)
		default:
			if pass {
				_ = syscall.Kill(command, s.(syscall.Signal))
			}
			if s == syscall.SIGTSTP {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
		}
	}
}

// reap buries dead children, orphans of the command among them, and ends this process when it meets the command.
func reap(command int) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		if pid != command {
			continue
		}
		if status.Signaled() {
			signal.Reset()
			_ = syscall.Kill(os.Getpid(), status.Signal())
			os.Exit(128 + int(status.Signal()))
		}
		os.Exit(status.ExitStatus())
	}
}

// sharesTerminal says whether the terminal itself signals the command, as it does all of its foreground processes.
func sharesTerminal() bool {
	for fd := range 3 {
		if foreground, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			return foreground == unix.Getpgrp()
		}
	}
	return false
}
