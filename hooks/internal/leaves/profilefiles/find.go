// Package profilefiles knows where profiles lie, for programs that need not read them, too.
package profilefiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/regularfile"
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

// Candidate is the file of a profile that a start may take which names none. Places says how many of the directories are
// not stronger than its own.
type Candidate struct {
	File   string
	Places int
}

// Unnamed lists these in their order: from the strongest directory on those that may have a condition, by name, and then
// the default. Those that are shipped have no condition. A file that surely has none is not listed, and masks as others do;
// whether another one masks shows when it is read.
func Unnamed(directories []string) ([]Candidate, error) {
	out, masked := []Candidate{}, map[string]bool{}
	for place := len(directories) - 1; place >= 0; place-- {
		names := []string{defaultFile}
		if place > 0 {
			var err error
			if names, err = profilesIn(directories[place]); err != nil {
				return nil, err
			}
		}
		found, defaults := []Candidate{}, []Candidate{}
		for _, name := range names {
			c := Candidate{filepath.Join(directories[place], name), place + 1}
			info, err := os.Stat(c.File)
			switch {
			case err != nil && !holdsNone(err):
				return nil, fmt.Errorf("cannot look for the profile %s: %w", c.File, err)
			case err != nil || masked[name]:
			case name == defaultFile:
				defaults = append(defaults, c)
			case info.Mode().IsRegular() && mayHaveCondition(c.File):
				found = append(found, c)
			default:
				masked[name] = true
			}
		}
		out = append(append(out, found...), defaults...)
	}
	return out, nil
}

const defaultFile = Default + ".yaml"

// profilesIn returns the names of the files that may be profiles, in order.
func profilesIn(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	switch {
	case errors.Is(err, fs.ErrPermission):
		// What cannot be listed can be looked into, perhaps.
		return []string{defaultFile}, nil
	case err != nil && !holdsNone(err):
		return nil, fmt.Errorf("cannot look for profiles in %s: %w", directory, err)
	}
	out := []string{}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".yaml") {
			out = append(out, entry.Name())
		}
	}
	return out, nil
}

// mayHaveCondition spares most starts the reading of YAML.
func mayHaveCondition(file string) bool {
	content, err := regularfile.Read(file)
	return err == nil && bytes.Contains(content, []byte("when"))
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
