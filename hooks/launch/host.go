package launch

import (
	"os"
	"path/filepath"
)

// OnThisHost lets the request look at the files of the machine that it is made on.
func (r Request) OnThisHost() Request {
	r.Glob = filepath.Glob
	r.Exists = func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	return r
}
