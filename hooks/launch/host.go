package launch

import (
	"os"
	"path/filepath"
	"sync"

	"mpiimport.org/hooks/internal/leaves/sharedlib"
)

// loader is read where a library is looked for, which few plans do.
var loader = sync.OnceValue(sharedlib.NewLoader)

// OnThisHost lets the request look at the files of the machine that it is made on.
func (r Request) OnThisHost() Request {
	r.Glob = filepath.Glob
	r.Exists = Exists
	r.IsDevice = isDevice
	r.Inspect = sharedlib.Read
	r.Loads = func(name string) []string { return loader().Find(name) }
	return r
}

// Exists says whether there is a file or directory on this machine.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeDevice != 0
}
