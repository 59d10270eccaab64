package launch

import (
	"os"
	"path/filepath"
)

// OnThisHost lets the request look at the files of the machine that it is made on.
func (r Request) OnThisHost() Request {
	r.Glob = filepath.Glob
	r.Exists = Exists
	r.IsDevice = isDevice
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
