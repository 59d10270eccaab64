package profile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/profilefiles"
)

// LoadTrusted returns a profile for a hook, which may run as root for somebody else. It takes names alone, and
// only files and directories that nobody but root can write to; neither the environment nor a home is asked.
func LoadTrusted(name, installed string) (*Profile, error) {
	root, err := RootOwner()
	if err != nil {
		return nil, err
	}
	return loadTrusted(name, "/", root, []string{prefix.Profiles(installed), profilefiles.Site})
}

func loadTrusted(name, top string, root uint32, directories []string) (*Profile, error) {
	for _, part := range Parts(name) {
		if !isName(part) {
			return nil, fmt.Errorf("%s cannot be the name of a profile; write %s", quoted(part), nameHint)
		}
	}
	there := []string{}
	for _, directory := range directories {
		if _, err := os.Lstat(directory); err == nil {
			there = append(there, directory)
		}
	}
	installed := filepath.Dir(directories[0])
	return search{directories: there, admit: func(file string) error {
		// Whoever can replace the installation as a whole can replace the hook that runs from it.
		if filepath.Dir(file) == directories[0] {
			return onlyRootWrites(file, installed, root)
		}
		return onlyRootWrites(file, top, root)
	}}.parts(name)
}

// OnlyRootWrites returns an error where somebody else than root could put another file in the place of this one, which lies
// below top.
func OnlyRootWrites(file, top string) error {
	root, err := RootOwner()
	if err != nil {
		return err
	}
	return onlyRootWrites(file, top, root)
}

// onlyRootWrites returns an error where somebody else could put another file in the place of this one: all from
// top down must be root's, writable for root alone, and no symbolic link. Once that is so only root can change it.
func onlyRootWrites(file, top string, root uint32) error {
	inside, err := filepath.Rel(top, file)
	if err != nil || strings.HasPrefix(inside, "..") {
		return fmt.Errorf("%s: not below %s; profiles for hooks lie in PREFIX/profiles and %s", file, top, profilefiles.Site)
	}
	place := top
	for _, step := range append([]string{""}, strings.Split(inside, "/")...) {
		place = filepath.Join(place, step)
		info, err := os.Lstat(place)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		uid := info.Sys().(*syscall.Stat_t).Uid
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s: %s is a symbolic link, which a hook does not follow; put the profile itself there", file, place)
		case uid != 0 && uid != root:
			return fmt.Errorf("%s: %s belongs to user %d, so a hook cannot trust it; give it to root", file, place, uid)
		case info.Mode().Perm()&0o022 != 0:
			return fmt.Errorf("%s: %s is writable for others than root, so a hook cannot trust it; chmod go-w %s", file, place, place)
		case place == file && !info.Mode().IsRegular():
			return fmt.Errorf("%s: not a regular file; put the profile itself there", file)
		}
	}
	return nil
}

// RootOwner is the user to whom root's files seem to belong: 0, or, in a user namespace where root is not mapped, the
// number that stands for it there. It is asked for once.
var RootOwner = sync.OnceValues(func() (uint32, error) { return owner("/") })

func owner(top string) (uint32, error) {
	info, err := os.Lstat(top)
	if err != nil {
		return 0, err
	}
	return info.Sys().(*syscall.Stat_t).Uid, nil
}
