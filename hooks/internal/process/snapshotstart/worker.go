package snapshotstart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
)

// Speaks says whether this process may print a line about its snapshot. A worker does so only where people want to know.
func Speaks(installed string, env []string) bool {
	return rankenv.SpeaksForJob(env) && (ourvars.IsOn(env, ourvars.Verbose) || !isWorker(installed))
}

// isWorker says whether a Python that mpiimport has started is the parent of this process. That program may read what its workers
// write to standard error.
func isWorker(installed string) bool {
	parent := fmt.Sprintf("/proc/%d", os.Getppid())
	program, err := os.Readlink(filepath.Join(parent, "exe"))
	switch name := filepath.Base(program); {
	case err != nil:
		return false
	case name == filepath.Base(prefix.Starter(installed)):
		return true
	case !strings.HasPrefix(name, "python"):
		return false
	}
	for _, file := range []string{"cmdline", "environ"} {
		if text, err := os.ReadFile(filepath.Join(parent, file)); err == nil && bytes.Contains(text, []byte(installed)) {
			return true
		}
	}
	return false
}
