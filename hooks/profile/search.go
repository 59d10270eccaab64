package profile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"mpiimport.org/hooks/internal/leaves/profilefiles"
)

// longestName is in characters.
const longestName = 200

// Directories lists where a user's launch looks for profiles, the strongest last.
func Directories(installed string, env []string) []string {
	return profilefiles.Directories(installed, env)
}

// Load returns the profile called name, merged with what it extends. A value with a slash is a path to a
// file; no value means "default", which is built in unless a directory has a default.yaml. Several names stand between commas.
func Load(name string, directories []string) (*Profile, error) {
	return search{directories: directories}.parts(cmp.Or(name, DefaultName))
}

// search looks for profiles in directories, the strongest last. Where admit is set it has to agree to a file first.
type search struct {
	directories []string
	admit       func(file string) error
}

// below is the same search among the weaker directories, as many as there are places.
func (s search) below(places int) search {
	return search{s.directories[:places], s.admit}
}

// load returns the profile called name. The chain has the files that extend it, by way of each other.
func (s search) load(name string, chain []string) (*Profile, error) {
	file, place, err := s.locate(name)
	if err != nil {
		return nil, err
	}
	if file == "" && name == DefaultName {
		return Default(), nil
	}
	if file == "" {
		known := Names(s.directories)
		return nil, fmt.Errorf("there is no profile %q%s (known: %s; searched: %s); name one of these or write %s.yaml",
			name, didYouMean(name, known), orNone(known), strings.Join(s.directories, ", "), name)
	}
	if slices.Contains(chain, file) {
		return nil, fmt.Errorf("%s: profiles extend each other in a circle (%s); remove one extends",
			file, strings.Join(append(chain, file), " -> "))
	}
	if s.admit != nil {
		if err := s.admit(file); err != nil {
			return nil, err
		}
	}
	p, err := readFile(file)
	if err != nil {
		return nil, err
	}
	bases := []*Profile{}
	for _, extended := range p.Extends {
		// A user's file cannot take the place of one that a site's extends; a profile can extend the one it masks.
		below := place
		if extended == name {
			below--
		}
		base, err := s.below(below).load(extended, append(slices.Clone(chain), file))
		if err != nil {
			return nil, fmt.Errorf("%w (extended by %s)", err, file)
		}
		bases = append(bases, base)
	}
	if len(bases) > 0 {
		if p, err = over(bases, p); err != nil {
			return nil, err
		}
	}
	return p, p.obey(s.maskedLocks(p.Name, file))
}

// maskedLocks returns the locks of the profile called name that would be found if file were not there. One that
// cannot be read locks nothing: what masks it may be the cure.
func (s search) maskedLocks(name string, file string) []Lock {
	places := len(s.directories)
	for i, directory := range s.directories {
		if filepath.Join(directory, name+".yaml") == file {
			places = i
		}
	}
	weaker := s.below(places)
	if there, _, err := weaker.locate(name); err != nil || there == "" {
		return nil
	}
	masked, err := weaker.load(name, nil)
	if err != nil {
		return nil
	}
	return masked.Locks
}

// locate returns the file of a profile, "" when there is none, and how many of the directories are not stronger.
func (s search) locate(name string) (string, int, error) {
	if strings.Contains(name, "/") {
		absolute, err := filepath.Abs(name)
		if err != nil {
			return "", 0, fmt.Errorf("cannot find the profile %s: %w", name, err)
		}
		return absolute, len(s.directories), nil
	}
	if !isName(name) {
		return "", 0, fmt.Errorf("%s cannot be the name of a profile; write %s, or a path with a slash (%s)", quoted(name), nameHint, quoted("./"+name))
	}
	return profilefiles.Find(name, s.directories)
}

// isName wants a name that a file can have, too.
func isName(name string) bool { return len(name) <= longestName && matches(namePattern, name) }

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
