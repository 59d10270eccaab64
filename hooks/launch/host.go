package launch

import (
	"os"
	"path/filepath"
)

// OnThisHost lets the request look at the files of the machine that it is made on.
func (r Request) OnThisHost() Request {
	r.Glob = filepath.Glob
	r.Exists = Exists
	return r
}

// Exists says whether there is a file or directory on this machine.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
