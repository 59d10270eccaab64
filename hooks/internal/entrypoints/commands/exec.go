package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/entrypoints/apptainercli"
	"mpiimport.org/hooks/internal/entrypoints/runtimes"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/prefix"
)

// ExecUsage is how `mpiimport exec` is called.
const ExecUsage = "usage: mpiimport exec [--profile P] [OPTIONS OF THE RUNTIME] IMAGE COMMAND..., as in: mpiimport exec img.sif python app.py"

// Exec runs a command in an image, accelerated: an image file, a sandbox or a reference with a scheme by Apptainer or
// SingularityCE, an image that has only a name by podman or docker.
func (c Call) Exec() (Outcome, error) {
	name, words, err := c.profile()
	if err != nil {
		return Outcome{}, err
	}
	off, err := c.off()
	if err != nil {
		return Outcome{}, err
	}
	line := apptainercli.Parse(append([]string{"exec"}, words...))
	if image := line.Image(); strings.Contains(image, "://") || isThere(image) {
		return c.byApptainer(name, words)
	}
	return c.byOCI(name, words, off)
}

// isThere is true of what this user may not look at, too: the runtime says so.
func isThere(image string) bool {
	_, err := os.Stat(image)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// byApptainer leaves everything else to the shim, which knows the runtime's options.
func (c Call) byApptainer(profile string, words []string) (Outcome, error) {
	flag := "--" + containerstart.Flag
	if profile != "" {
		flag += "=" + profile
	}
	if name, _ := c.runtime(); name != "" {
		shim := filepath.Join(prefix.Shims(c.Prefix), name)
		return Outcome{Args: append([]string{shim, "exec", flag}, words...), Env: c.Env}, nil
	}
	path, _ := environ.Get(c.Env, "PATH")
	return Outcome{}, fmt.Errorf("neither apptainer nor singularity was found on PATH (%s); load the module that brings one", path)
}

// runtime returns the name of the first of Apptainer and SingularityCE that is here, empty where none is, and what is
// known of it.
func (c Call) runtime() (string, containerstart.Facts) {
	self, _ := os.Executable()
	path, _ := environ.Get(c.Env, "PATH")
	// What cannot be read is not known; the shim says so.
	known, _ := runtimes.Read(prefix.LaunchFile(c.Prefix))
	finder := runtimes.Finder{Prefix: c.Prefix, Self: self, Path: path, Known: known}
	for _, name := range []string{"apptainer", "singularity"} {
		if found, err := finder.Find(name); err == nil {
			return name, found.Facts
		}
	}
	return "", containerstart.Facts{}
}
