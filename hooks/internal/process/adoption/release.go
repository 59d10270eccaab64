package adoption

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// Release hands this process over to who waits for it, if somebody does. It must run on the main thread, which will
// become the command. It returns the environment without what was meant for it. An error says that nobody is left.
func Release(env []string) ([]string, error) {
	text, asked := environ.Get(env, ourvars.Parent)
	if !asked {
		return env, nil
	}
	env = environ.Unset(env, ourvars.Parent)
	var fd, parent int
	if _, err := fmt.Sscanf(text, "%d:%d", &fd, &parent); err != nil {
		return env, fmt.Errorf("%s=%s is not understood", ourvars.Parent, text)
	}
	line := os.NewFile(uintptr(fd), "parent")
	defer func() { _ = line.Close() }()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
		return env, err
	}
	if _, err := fmt.Fprint(line, os.Getpid()); err != nil {
		return env, err
	}
	if _, err := line.Read(make([]byte, 1)); err != nil {
		return env, err
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return env, err
	}
	if os.Getppid() != parent {
		return env, fmt.Errorf("process %d has gone", parent)
	}
	return env, nil
}
