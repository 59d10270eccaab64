package snapshotstart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/leaves/prefix"
)

// IsWorker says whether a Python that mpiimport has started is the parent of this process. That program may read what its workers
// write to standard error.
func IsWorker(installed string) bool {
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
