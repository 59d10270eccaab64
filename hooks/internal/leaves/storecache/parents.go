package storecache

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// mostLinks is the kernel's own limit: path_resolution(7).
const mostLinks = 40

// othersMayRename says whether somebody else than this user and root could put another entry in the place of one in a directory, or
// of one above it. The rules, and their reasons, are those of mpiimport/runtime/store/parents.py.
func othersMayRename(path string) bool {
	machine := owner("/proc/sys")
	trusted := []uint32{uint32(os.Geteuid()), 0, machine, owner("/")}
	place, rest, links := "/", strings.Split(path, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		step := filepath.Join(place, name)
		if step == place || name == ".." {
			place = step
			continue
		}
		var status syscall.Stat_t
		if syscall.Lstat(step, &status) != nil || !slices.Contains(trusted, status.Uid) {
			return true
		}
		switch status.Mode & syscall.S_IFMT {
		case syscall.S_IFLNK:
			target, err := os.Readlink(step)
			if links++; err != nil || links > mostLinks {
				return true
			}
			if filepath.IsAbs(target) {
				place = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		case syscall.S_IFDIR:
			if isOpen(step, status, machine) {
				return true
			}
		}
		place = step
	}
	return false
}

func owner(path string) uint32 {
	var status syscall.Stat_t
	if syscall.Stat(path, &status) != nil {
		return 0
	}
	return status.Uid
}

// isOpen says whether others than its owner may rename what is in a directory.
func isOpen(directory string, status syscall.Stat_t, machine uint32) bool {
	if status.Mode&(syscall.S_IWGRP|syscall.S_IWOTH) == 0 || status.Mode&syscall.S_ISVTX != 0 {
		return false
	}
	if status.Mode&syscall.S_IWOTH != 0 || status.Gid != status.Uid || machine != 0 {
		return true
	}
	_, err := syscall.Getxattr(directory, "system.posix_acl_access", nil)
	return !errors.Is(err, syscall.ENODATA) && !errors.Is(err, syscall.EOPNOTSUPP)
}
