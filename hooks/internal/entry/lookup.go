package entry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/environ"
)

// Statuses that a shell uses for a command it cannot start.
const (
	NotExecutable = 126
	NotFound      = 127
)

// NotStarted is a command that cannot be executed, and the status to exit with.
type NotStarted struct {
	Command string
	Reason  string
	Status  int
}

func (e NotStarted) Error() string { return e.Command + ": " + e.Reason }

// Lookup finds the file of a command, along PATH as execvp does.
func Lookup(command string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		return command, usable(command, command)
	}
	path, ok := environ.Get(env, "PATH")
	if !ok {
		path = "/bin:/usr/bin"
	}
	worst := error(NotStarted{command, "command not found", NotFound})
	for _, directory := range filepath.SplitList(path) {
		file := filepath.Join(directory, command)
		if directory == "" {
			file = "./" + command
		}
		err := usable(command, file)
		if err == nil {
			return file, nil
		}
		var refused NotStarted
		if errors.As(err, &refused) && refused.Status == NotExecutable && !isDirectory(file) {
			worst = err
		}
	}
	if command == "" {
		return "", NotStarted{"''", "command not found", NotFound}
	}
	return "", worst
}

func usable(command, file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return NotStarted{command, "No such file or directory", NotFound}
	case err != nil:
		return NotStarted{command, errors.Unwrap(err).Error(), NotExecutable}
	case info.IsDir():
		return NotStarted{command, "Is a directory", NotExecutable}
	case info.Mode()&0o111 == 0:
		return NotStarted{command, "Permission denied", NotExecutable}
	}
	return nil
}

func isDirectory(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.IsDir()
}

// Execute replaces this process; it returns only if that failed.
func Execute(command []string, env []string) error {
	file, err := Lookup(command[0], env)
	if err != nil {
		return err
	}
	env = stamp(env)
	err = syscall.Exec(file, command, env)
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without an interpreter line: the runtimes, as shells do, give it to sh.
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", file}, command[1:]...), env)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return NotStarted{command[0], "its interpreter is missing", NotFound}
	}
	return NotStarted{command[0], fmt.Sprint(err), NotExecutable}
}
