// Package fitting fits, inside a container, the host's MPI that is brought into it and the image together: the image's C library
// must be new enough, and of the host's system libraries come those that the image itself lacks.
package fitting

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/sharedlib"
)

const searchVariable = "LD_LIBRARY_PATH"

// Need is what one library of the host's needs of the image.
type Need struct {
	Source    string   // the file on the host, for complaints
	CVersions []string // of the C library's symbols
	// A library of the host's system is searched in a directory of its own, if the image has none with these versions. The
	// last word of the directory is the library's name.
	Directory string
	Versions  []string
}

// Between needs, between the parts of one, and in lists. No version has any of these in its name, and a path that can be
// bound has no comma.
const (
	between, parts, list = ",", "|", ":"
)

// Write returns needs as a variable has them.
func Write(needs []Need) string {
	lines := []string{}
	for _, n := range needs {
		words := []string{strings.Join(n.CVersions, list), n.Directory, strings.Join(n.Versions, list), n.Source}
		lines = append(lines, strings.Join(words, parts))
	}
	return strings.Join(lines, between)
}

func read(text string) []Need {
	out := []Need{}
	for _, line := range strings.Split(text, between) {
		if words := strings.SplitN(line, parts, 4); len(words) == 4 {
			out = append(out, Need{CVersions: listed(words[0]), Directory: words[1], Versions: listed(words[2]), Source: words[3]})
		}
	}
	return out
}

func listed(text string) []string {
	return slices.DeleteFunc(strings.Split(text, list), func(word string) bool { return word == "" })
}

// Check returns the environment in which the host's MPI is loaded, or why it cannot be loaded here.
func Check(env []string) ([]string, error) {
	said, ok := environ.Get(env, ourvars.Inject)
	if !ok {
		return env, nil
	}
	return check(environ.Unset(env, ourvars.Inject), read(said), finder(env))
}

// check looks at each need. has returns the versions of the image's library with a name; false where it has none that is known.
func check(env []string, needs []Need, has func(name string) ([]string, bool)) ([]string, error) {
	own, known := has(sharedlib.CLibrary)
	for _, n := range needs {
		if n.Directory != "" {
			if versions, ok := has(path.Base(n.Directory)); ok && missing(n.Versions, versions) == "" {
				continue
			}
			env = environ.PrependPath(env, searchVariable, n.Directory)
		}
		// Where the C library lies elsewhere than usual, only the loader can tell.
		if version := missing(n.CVersions, own); known && version != "" {
			return nil, fmt.Errorf("%s of this host needs %s of %s, and the image's has at most %s; use an image with a newer C library, or a profile without mpi.inject, which leaves the image its own MPI",
				n.Source, version, sharedlib.CLibrary, sharedlib.Newest(own))
		}
	}
	return env, nil
}

func missing(wanted, has []string) string {
	for _, version := range wanted {
		if !slices.Contains(has, version) {
			return version
		}
	}
	return ""
}

// finder looks for libraries as the loader here does: where the image's variable says, by its cache, in the usual directories.
func finder(env []string) func(name string) ([]string, bool) {
	loader := sharedlib.NewLoader()
	said, _ := environ.Get(env, searchVariable)
	return func(name string) ([]string, bool) {
		files := []string{}
		for _, directory := range listed(said) {
			files = append(files, filepath.Join(directory, name))
		}
		for _, file := range append(files, loader.Find(name)...) {
			if library, err := sharedlib.Read(file); err == nil && library.IsForThisMachine() {
				return library.Has, true
			}
		}
		return nil, false
	}
}
