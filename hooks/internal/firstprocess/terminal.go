package firstprocess

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// terminal is the controlling terminal; its descriptor is -1 where there is none.
type terminal struct{ descriptor int }

func openTerminal() terminal {
	descriptor, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		descriptor = -1
	}
	return terminal{descriptor}
}

// foreground is the process group that reads from the terminal and gets its ^C; -1 where there is none.
func (t terminal) foreground() int {
	var group int32
	if t.descriptor < 0 || !t.control(syscall.TIOCGPGRP, &group) {
		return -1
	}
	return int(group)
}

// move hands the terminal from one process group to another; whoever else has it keeps it.
func (t terminal) move(from, to int) {
	if t.foreground() != from {
		return
	}
	// A group in the background is stopped for moving the terminal.
	signal.Ignore(syscall.SIGTTOU)
	group := int32(to)
	t.control(syscall.TIOCSPGRP, &group)
}

func (t terminal) control(request uintptr, group *int32) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(t.descriptor), request, uintptr(unsafe.Pointer(group)))
	return errno == 0
}
