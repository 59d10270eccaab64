package entry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/environ"
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

// Exit says, in the name of this program, why the command could not be started, and ends with the status that the
// container runtime itself would.
func Exit(program string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
	for _, name := range []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"} {
		if os.Getenv(name) != "" {
			os.Exit(255)
		}
	}
	var refused NotStarted
	if errors.As(err, &refused) {
		os.Exit(refused.Status)
	}
	os.Exit(NotExecutable)
}

// Execute replaces this process by the command, whose file it looks for as execvp does; it returns only if that
// failed. No file is asked for before the attempt: at scale each question is one too many.
func Execute(command []string, env []string) error {
	env = stamp(env)
	worst := NotStarted{command[0], "command not found", NotFound}
	for _, file := range Candidates(command[0], env) {
		err := syscall.Exec(file, command, env)
		if errors.Is(err, syscall.ENOEXEC) {
			// A script without an interpreter line: the runtimes, as shells do, give it to sh.
			err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", file}, command[1:]...), env)
		}
		byPath := strings.Contains(command[0], "/")
		if !byPath && isMissing(err) {
			continue
		}
		refused := classify(command[0], file, err)
		if byPath {
			return refused
		}
		if refused.Status == NotExecutable && !isDirectory(file) {
			worst = refused
		}
	}
	return worst
}

// Candidates lists the files that a command may be, along PATH.
func Candidates(command string, env []string) []string {
	if command == "" {
		return nil
	}
	if strings.Contains(command, "/") {
		return []string{command}
	}
	path, ok := environ.Get(env, "PATH")
	if !ok {
		path = "/bin:/usr/bin"
	}
	files := []string{}
	for _, directory := range filepath.SplitList(path) {
		if directory == "" {
			directory = "."
		}
		files = append(files, directory+"/"+command)
	}
	return files
}

// Absolute is an option of the entry binary and of python-mpi, in front of all others: the program is called as Named calls it.
const Absolute = "--absolute"

// Named returns the command as Apptainer and SingularityCE name it: by the path of its file, which begins where PWD says if it
// is relative. A command that PATH does not have stays as it is.
func Named(command []string, env []string) []string {
	if filepath.IsAbs(command[0]) {
		return command
	}
	here, _ := environ.Get(env, "PWD")
	for _, file := range Candidates(command[0], env) {
		if file = filepath.Clean(file); !filepath.IsAbs(file) {
			file = filepath.Join(here, file)
		}
		if strings.Contains(command[0], "/") || isExecutable(file) {
			return append([]string{file}, command[1:]...)
		}
	}
	return command
}

func isExecutable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// classify says, as a shell does, why a file could not be executed.
func classify(command, file string, err error) NotStarted {
	switch {
	case isMissing(err):
		if _, err := os.Stat(file); err == nil {
			return NotStarted{command, "its interpreter is missing", NotFound}
		}
		return NotStarted{command, "No such file or directory", NotFound}
	case isDirectory(file):
		return NotStarted{command, "Is a directory", NotExecutable}
	case errors.Is(err, fs.ErrPermission):
		return NotStarted{command, "Permission denied", NotExecutable}
	}
	return NotStarted{command, fmt.Sprint(err), NotExecutable}
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func isDirectory(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.IsDir()
}
