// Package prefix locates the directory that mpiimport was installed into, and the places inside it.
package prefix

import (
	"fmt"
	"os"
	"path/filepath"
)

// InContainer is where a launch plan brings the prefix.
const InContainer = "/.mpiimport"

// Of returns the prefix of the running binary, PREFIX/bin/NAME, after symbolic links.
func Of() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot tell where mpiimport is installed: reading /proc/self/exe: %w; is /proc mounted?", err)
	}
	return filepath.Dir(filepath.Dir(executable)), nil
}

// Profiles is where the packaged profiles lie.
func Profiles(prefix string) string { return filepath.Join(prefix, "profiles") }

// LaunchFile records the container runtimes that were found at installation.
func LaunchFile(prefix string) string { return filepath.Join(prefix, "etc", "launch.yaml") }

// Released says which profiles the OCI hook may serve.
func Released(prefix string) string { return filepath.Join(prefix, "etc", "hook.yaml") }

// Entry is the binary that stands in front of a container's command.
func Entry(prefix string) string { return filepath.Join(prefix, "bin", "mpiimport-entry") }

// Plan is the binary that reads profiles.
func Plan(prefix string) string { return filepath.Join(prefix, "bin", "mpiimport-plan") }

// StartScript is the Python file that activates before site is imported.
func StartScript(prefix string) string { return filepath.Join(prefix, "lib", "mpiimport", "start.py") }

// SiteDirectory holds the sitecustomize that activates where the command line is not ours.
func SiteDirectory(prefix string) string {
	return filepath.Join(prefix, "lib", "mpiimport", "pythonpath")
}

// PythonMPI is python through mpiimport.
func PythonMPI(prefix string) string { return filepath.Join(prefix, "bin", "python-mpi") }

// Starter is the program that becomes an interpreter of which there is an image.
func Starter(prefix string) string { return filepath.Join(prefix, "bin", "mpiimport-restore") }

// Keeper is the program that starts and ends the container which the ranks of a node share.
func Keeper(prefix string) string { return filepath.Join(prefix, "bin", "mpiimport-keeper") }

// Shims holds what stands as singularity and apptainer on PATH.
func Shims(prefix string) string { return filepath.Join(prefix, "shim") }

// HostPython runs the commands that are written in Python.
func HostPython(prefix string) string { return filepath.Join(prefix, "host", "bin", "python") }
