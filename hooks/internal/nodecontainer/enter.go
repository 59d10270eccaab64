package nodecontainer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"mpiimport.org/hooks/internal/prefix"
)

// Descriptors of the ranks' locks are put above those that programs expect to get.
const lowestLock = 100

// Enter returns the words and the environment with which this process becomes one in the node's container. It waits
// for the container, and has it started if it is the first. An error says why there is none; this process then holds
// on to that answer as the others do, so that they all do without.
func (c Commands) Enter(runtime, installed string, env []string) ([]string, []string, error) {
	image, err := filepath.Abs(c.Image)
	if err != nil {
		return nil, nil, err
	}
	c.Image = image
	name, err := identity(c.Start(installed, ""), env)
	if err != nil {
		return nil, nil, err
	}
	p := placeOf(name)
	ranks, err := p.enter()
	if err != nil {
		return nil, nil, err
	}
	if err := outliveExec(ranks); err != nil {
		return nil, nil, err
	}
	keeper := exec.Command(prefix.Keeper(installed), append([]string{string(p), runtime}, c.Start(installed, p.name())...)...)
	keeper.Env, keeper.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
	state, err := p.settled(keeper)
	if err != nil {
		return nil, nil, err
	}
	if state != ready {
		return nil, nil, errors.New(state)
	}
	return c.Join(p.name()), inside(env, p.at("configuration")), nil
}

// settled returns the state. Where there is none yet, a keeper makes it: this process starts one, with the lock in
// its hands, so that the lock is free when the keeper has decided or is dead.
func (p place) settled(keeper *exec.Cmd) (string, error) {
	for started := false; ; started = true {
		fd, err := p.lock("start", syscall.LOCK_EX)
		if err != nil {
			return "", err
		}
		state := p.state()
		if state == "" && started {
			state = "its keeper ended before the container was there"
		}
		if state == "" {
			lock := os.NewFile(uintptr(fd), "start")
			keeper.ExtraFiles = []*os.File{lock}
			if err := keeper.Run(); err != nil {
				state = fmt.Sprintf("its keeper cannot be started: %v", err)
			}
			_ = lock.Close()
		} else {
			_ = syscall.Close(fd)
		}
		if state != "" {
			return state, nil
		}
	}
}

// outliveExec moves the descriptor out of the way and keeps it open in what this process becomes.
func outliveExec(fd int) error {
	for lowest := lowestLock; ; lowest = 0 {
		_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD, uintptr(lowest))
		if errno == 0 {
			return syscall.Close(fd)
		}
		if lowest == 0 {
			return errno
		}
	}
}
