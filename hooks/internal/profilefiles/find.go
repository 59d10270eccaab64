// Package profilefiles knows where profiles lie, for programs that need not read them, too.
package profilefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/prefix"
)

// Default is the name of the profile that is taken where none is named.
const Default = "default"

// Site is where a machine's administrator keeps profiles.
const Site = "/etc/mpiimport/profiles.d"

// Directories lists where a user's launch looks for profiles, the strongest last.
func Directories(installed string, env []string) []string {
	out := []string{prefix.Profiles(installed), Site}
	if config, ok := environ.Get(env, "XDG_CONFIG_HOME"); ok && filepath.IsAbs(config) {
		return append(out, filepath.Join(config, "mpiimport", "profiles"))
	}
	if home, ok := environ.Get(env, "HOME"); ok && filepath.IsAbs(home) {
		out = append(out, filepath.Join(home, ".config", "mpiimport", "profiles"))
	}
	return out
}

// Find returns the file of the profile called name, "" when there is none, and how many of the directories are not
// stronger than its own.
func Find(name string, directories []string) (string, int, error) {
	for place := len(directories); place > 0; place-- {
		file := filepath.Join(directories[place-1], name+".yaml")
		_, err := os.Stat(file)
		if err == nil {
			return file, place, nil
		}
		if !holdsNone(err) {
			return "", 0, fmt.Errorf("cannot look for the profile %s: %w", file, err)
		}
	}
	return "", 0, nil
}

// holdsNone says whether a directory is not there, cannot be (HOME=/dev/null), or may not be looked into by this user.
func holdsNone(err error) bool {
	for _, reason := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
