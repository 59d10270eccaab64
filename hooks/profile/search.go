package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/prefix"
)

// Directories lists where a user's launch looks for profiles, the strongest last. A hook that runs as root
// passes a list of its own to Load.
func Directories(installed string, env []string) []string {
	out := []string{prefix.Profiles(installed), "/etc/mpiimport/profiles.d"}
	if config, ok := environ.Get(env, "XDG_CONFIG_HOME"); ok && filepath.IsAbs(config) {
		return append(out, filepath.Join(config, "mpiimport", "profiles"))
	}
	if home, ok := environ.Get(env, "HOME"); ok && filepath.IsAbs(home) {
		out = append(out, filepath.Join(home, ".config", "mpiimport", "profiles"))
	}
	return out
}

// Load returns the profile called name, merged with what it extends. A value with a slash is a path to a
// file; no value, and "default", mean the built-in one unless a directory has a default.yaml.
func Load(name string, directories []string) (*Profile, error) {
	return load(name, directories, nil)
}

func load(name string, directories, chain []string) (*Profile, error) {
	if name == "" {
		return Default(), nil
	}
	file, err := locate(name, directories)
	if err != nil {
		return nil, err
	}
	if file == "" && name == DefaultName {
		return Default(), nil
	}
	if file == "" {
		known := Names(directories)
		return nil, fmt.Errorf("there is no profile %q%s (known: %s; searched: %s); name one of these or write %s.yaml",
			name, didYouMean(name, known), orNone(known), strings.Join(directories, ", "), name)
	}
	for _, earlier := range chain {
		if earlier == file {
			return nil, fmt.Errorf("%s: profiles extend each other in a circle (%s); remove one extends",
				file, strings.Join(append(chain, file), " -> "))
		}
	}
	p, err := readFile(file)
	if err != nil || p.Extends == "" {
		return p, err
	}
	base, err := load(p.Extends, directories, append(chain, file))
	if err != nil {
		return nil, fmt.Errorf("%w (extended by %s)", err, file)
	}
	return p.over(base), nil
}

// locate returns the file of a profile, "" when there is none.
func locate(name string, directories []string) (string, error) {
	if strings.Contains(name, "/") {
		absolute, err := filepath.Abs(name)
		if err != nil {
			return "", fmt.Errorf("cannot find the profile %s: %w", name, err)
		}
		return absolute, nil
	}
	if !regexp.MustCompile(namePattern).MatchString(name) {
		return "", fmt.Errorf("%q cannot be the name of a profile; write %s, or a path with a slash (./%s)", name, nameHint, name)
	}
	for i := len(directories) - 1; i >= 0; i-- {
		file := filepath.Join(directories[i], name+".yaml")
		_, err := os.Stat(file)
		if err == nil {
			return file, nil
		}
		// A directory that is not there, or that this user may not look into, holds no profile for this user.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return "", fmt.Errorf("cannot look for the profile %s: %w", file, err)
		}
	}
	return "", nil
}

// Names lists the profiles that can be named.
func Names(directories []string) []string {
	seen := map[string]bool{}
	for _, directory := range directories {
		files, _ := filepath.Glob(filepath.Join(directory, "*.yaml"))
		for _, file := range files {
			seen[strings.TrimSuffix(filepath.Base(file), ".yaml")] = true
		}
	}
	names := []string{}
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
