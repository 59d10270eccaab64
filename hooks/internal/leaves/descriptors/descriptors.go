// Package descriptors closes what a process got from the one that started it, before it goes on beside that.
package descriptors

import (
	"os"
	"strconv"
	"syscall"
)

// CloseInherited closes all descriptors above one, but those that no program is handed on: they are this process's own.
func CloseInherited(above int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		descriptor, err := strconv.Atoi(entry.Name())
		if err != nil || descriptor <= above {
			continue
		}
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(descriptor), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(descriptor)
		}
	}
}
