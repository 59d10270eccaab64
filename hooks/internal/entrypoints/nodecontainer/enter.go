package nodecontainer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/process/adoption"
)

// Run executes the command in the node's container, which it waits for, and has started if this process is the first.
// It does not return, unless the command is to be started in a container of its own. The error says why. This process
// then holds on to that answer as the others do, so that they all do without.
func (c Commands) Run(runtime, installed string, env []string) error {
	image, err := filepath.Abs(c.Image)
	if err != nil {
		return err
	}
	c.Image = image
	name, err := identity(c.Start(installed, ""), env)
	if err != nil {
		return err
	}
	p := placeOf(name)
	ranks, err := p.enter()
	if err != nil {
		return err
	}
	if _, err := adoption.KeepOpen(ranks); err != nil {
		return err
	}
	keeper := exec.Command(prefix.Keeper(installed), append([]string{string(p), runtime}, c.Start(installed, p.name())...)...)
	keeper.Env, keeper.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
	state, err := p.settled(keeper)
	if err != nil {
		return err
	}
	if state != ready {
		return errors.New(state)
	}
	return adoption.Run(append([]string{runtime}, c.Join(p.name())...), inside(env, p.at("configuration")))
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
