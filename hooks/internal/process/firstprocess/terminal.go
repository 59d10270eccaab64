package firstprocess

import (
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal; its descriptor is -1 where there is none.
type terminal struct{ descriptor int }

func openTerminal() terminal {
	descriptor, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		descriptor = -1
	}
	return terminal{descriptor}
}

// foreground is the process group that reads from the terminal and gets its ^C; -1 where there is none.
func (t terminal) foreground() int {
	group, err := unix.IoctlGetInt(t.descriptor, unix.TIOCGPGRP)
	if err != nil {
		return -1
	}
	return group
}

// move hands the terminal from one process group to another; whoever else has it keeps it.
func (t terminal) move(from, to int) {
	if t.foreground() != from {
		return
	}
	// A group in the background is stopped for moving the terminal.
	signal.Ignore(unix.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.descriptor, unix.TIOCSPGRP, to)
}
