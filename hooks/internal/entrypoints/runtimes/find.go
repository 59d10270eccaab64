// Package runtimes finds the real singularity and apptainer behind the shim, and records them at installation.
package runtimes

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
)

// Names are the commands that the shim stands for.
var Names = []string{"singularity", "apptainer"}

// Runtime is a container runtime's executable, and what was recorded of it.
type Runtime struct {
	Path  string
	Facts containerstart.Facts
}

// Finder looks for real runtimes: first on PATH, for the module that a user has loaded counts, then among the recorded.
type Finder struct {
	Prefix string // of this installation
	Self   string // the running binary
	Path   string // the caller's PATH
	Known  Recorded
}

// Find returns the real executable called name.
func (f Finder) Find(name string) (Runtime, error) {
	found, err := f.Search(name)
	if err == nil {
		return found, nil
	}
	for _, path := range slices.Sorted(maps.Keys(f.Known)) {
		if filepath.Base(path) == name && f.isOther(path) && !isShim(path) {
			return Runtime{path, f.Known[path]}, nil
		}
	}
	return Runtime{}, err
}

// Search returns the first executable called name on PATH that is not a shim.
func (f Finder) Search(name string) (Runtime, error) {
	for _, directory := range filepath.SplitList(f.Path) {
		if directory == "" {
			directory = "."
		}
		path, err := filepath.Abs(filepath.Join(directory, name))
		if err != nil {
			continue
		}
		if !f.isOther(path) {
			continue
		}
		// What was recorded need not be told from a shim again: that takes a look at each directory above it.
		if facts, known := f.Known[path]; known {
			return Runtime{path, facts}, nil
		}
		if !isShim(path) {
			return Runtime{path, containerstart.Facts{Flavour: flavourOfName(path)}}, nil
		}
	}
	return Runtime{}, fmt.Errorf("%s: no real %s found behind the mpiimport shim in %s; load the module that brings it, or record it with `%s record`",
		name, name, filepath.Join(f.Prefix, "shim"), filepath.Join(f.Prefix, "bin", "mpiimport-plan"))
}

// isOther says whether path can be executed and is not the running program.
func (f Finder) isOther(path string) bool {
	file, err := os.Stat(path)
	if err != nil || !file.Mode().IsRegular() || file.Mode()&0o111 == 0 {
		return false
	}
	self, err := os.Stat(f.Self)
	return err != nil || !os.SameFile(self, file)
}

// isShim says whether path is a shim of any installation: a link to PREFIX/bin/mpiimport-shim or, from
// a wheel, a copy in PREFIX/shim.
func isShim(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	directory := filepath.Dir(resolved)
	installed := filepath.Dir(directory)
	if filepath.Base(resolved) != "mpiimport-shim" && directory != prefix.Shims(installed) {
		return false
	}
	_, err = os.Stat(prefix.Entry(installed))
	return err == nil
}

// flavourOfName tells Apptainer by its file: distributions link singularity to apptainer.
func flavourOfName(path string) string {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil && filepath.Base(resolved) == "apptainer" {
		return "apptainer"
	}
	return ""
}

// More shims one after the other than any nesting of containers explains: a script on PATH calls us back.
const deepest = 8

// Deeper counts this shim in the environment; it is an error when the real runtime keeps leading back here.
func Deeper(env []string, runtime string) ([]string, error) {
	depth := 0
	if value, ok := environ.Get(env, ourvars.Depth); ok {
		if _, err := fmt.Sscanf(value, "%d", &depth); err != nil {
			depth = 0
		}
	}
	if depth >= deepest {
		return nil, fmt.Errorf("the mpiimport shim was called by itself %d times: %s is a script that comes back here; put the real %s ahead of it on PATH, or unset %s",
			depth, runtime, filepath.Base(runtime), ourvars.Depth)
	}
	return environ.Set(env, ourvars.Depth, fmt.Sprint(depth+1)), nil
}
