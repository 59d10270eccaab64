package nodecontainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// place is a directory of one node's memory in which the ranks meet:
//
//	ranks   each rank and all that comes from it has a shared lock on it (flock), so it is free after the last one
//	start   who has its lock may look at state, and make one
//	state   "ready", or why there is no container
//	...     what the keeper needs for the instance
//
// Liveness is told by locks, which the kernel frees however a process ends and which cross PID namespaces.
type place string

const parent = "/dev/shm"

// everyPlace is the pattern of this user's places.
func everyPlace() string { return fmt.Sprintf("%s/mpiimport-container-%d-*", parent, os.Geteuid()) }

func placeOf(identity string) place {
	return place(strings.Replace(everyPlace(), "*", identity, 1))
}

func (p place) name() string          { return filepath.Base(string(p)) }
func (p place) at(name string) string { return filepath.Join(string(p), name) }

const ready = "ready"

// enter makes the place if need be and locks `ranks`. The descriptor outlives exec, so what this process becomes
// keeps the lock.
func (p place) enter() (int, error) {
	for {
		if err := os.Mkdir(string(p), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return -1, err
		}
		if err := p.isOurs(); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return -1, err
		}
		fd, err := p.lock("ranks", syscall.LOCK_SH)
		if errors.Is(err, syscall.ENOENT) {
			continue // the last rank of before went, and its keeper has removed the place
		}
		return fd, err
	}
}

// isOurs keeps us out of what another user has put there.
func (p place) isOurs() error {
	info, err := os.Lstat(string(p))
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || int(owner) != os.Geteuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%s is not a private directory of this user", p)
	}
	return nil
}

// lock opens a file of the place and locks it as flock(2) does. ENOENT: the file is not the place's any more.
func (p place) lock(name string, how int) (int, error) {
	fd, err := syscall.Open(p.at(name), syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return -1, err
	}
	err = flock(fd, how)
	if err == nil {
		var mine, there syscall.Stat_t
		_ = syscall.Fstat(fd, &mine)
		if syscall.Stat(p.at(name), &there) != nil || mine.Ino != there.Ino || mine.Dev != there.Dev {
			err = syscall.ENOENT
		}
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

func flock(fd, how int) error {
	for {
		if err := syscall.Flock(fd, how); err != syscall.EINTR {
			return err
		}
	}
}

func (p place) state() string {
	text, _ := regularfile.Read(p.at("state"))
	return string(text)
}

// decide writes the state, whole or not at all.
func (p place) decide(state string) error {
	if err := os.WriteFile(p.at("state.new"), []byte(state), 0o600); err != nil {
		return err
	}
	return os.Rename(p.at("state.new"), p.at("state"))
}

// remove takes the place away in one step, so that who comes now makes a new one.
func (p place) remove() {
	gone := fmt.Sprintf("%s/.mpiimport-container-%d-%d", parent, os.Geteuid(), os.Getpid())
	if os.Rename(string(p), gone) == nil {
		_ = os.RemoveAll(gone)
	}
}
