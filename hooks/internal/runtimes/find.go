// Package runtimes finds the real singularity and apptainer behind the shim, and records them at installation.
package runtimes

import (
	"fmt"
	"os"
	"path/filepath"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/internal/prefix"
)

// Names are the commands that the shim stands for.
var Names = []string{"singularity", "apptainer"}

// Runtime is a container runtime's executable. Flavour is apptainer, singularityce, or empty if nobody recorded it
// and the file's name does not tell. NoBinds says that its configuration forbids users to bind anything.
type Runtime struct {
	Path    string `yaml:"path"`
	Flavour string `yaml:"flavour"`
	NoBinds bool   `yaml:"no_binds,omitempty"`
}

// Finder looks for real runtimes: what was recorded, then what PATH has behind the shim.
type Finder struct {
	Prefix string // of this installation
	Self   string // the running binary
	Path   string // the caller's PATH
}

// Find returns the real executable called name. What was recorded is not looked at: every start on every node would
// ask for it. Where it is gone, Search finds another.
func (f Finder) Find(name string) (Runtime, error) {
	recorded, err := Read(prefix.LaunchFile(f.Prefix))
	if err != nil {
		return Runtime{}, err
	}
	if r, ok := recorded[name]; ok {
		return r, nil
	}
	return f.Search(name)
}

// Search returns the first executable called name on PATH that is not a shim.
func (f Finder) Search(name string) (Runtime, error) {
	for _, directory := range filepath.SplitList(f.Path) {
		if directory == "" {
			directory = "."
		}
		path, err := filepath.Abs(filepath.Join(directory, name))
		if err == nil && f.isReal(path) {
			return Runtime{Path: path, Flavour: flavourOfName(path)}, nil
		}
	}
	return Runtime{}, fmt.Errorf("%s: no real %s found behind the mpiimport shim in %s; load the module that brings it, or record it with `%s record`",
		name, name, filepath.Join(f.Prefix, "shim"), filepath.Join(f.Prefix, "bin", "mpiimport-plan"))
}

// isReal says whether path can be executed and is no shim, ours or another installation's.
func (f Finder) isReal(path string) bool {
	file, err := os.Stat(path)
	if err != nil || !file.Mode().IsRegular() || file.Mode()&0o111 == 0 {
		return false
	}
	if self, err := os.Stat(f.Self); err == nil && os.SameFile(self, file) {
		return false
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	// A shim is a link to PREFIX/bin or, from a wheel, a copy in PREFIX/shim.
	_, err = os.Stat(prefix.Entry(filepath.Dir(filepath.Dir(resolved))))
	return err != nil
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
func Deeper(env []string, name string) ([]string, error) {
	depth := 0
	if value, ok := environ.Get(env, handover.Depth); ok {
		if _, err := fmt.Sscanf(value, "%d", &depth); err != nil {
			depth = 0
		}
	}
	if depth >= deepest {
		return nil, fmt.Errorf("%s: the mpiimport shim was called by itself %d times, so the %s behind it is a script that comes back here; record the real one with `mpiimport-plan record`, or unset %s",
			name, depth, name, handover.Depth)
	}
	return environ.Set(env, handover.Depth, fmt.Sprint(depth+1)), nil
}
