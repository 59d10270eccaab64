package profile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/profilefiles"
)

// Wrong lists what keeps launches on this machine from the profiles that are meant for all of them: those that are passed over
// since they are broken, and what others may replace, or may not read. Each line has its remedy.
func Wrong(installed string, caller []string) ([]string, error) {
	candidates, err := Unnamed(installed, caller)
	if err != nil {
		return nil, err
	}
	root, err := RootOwner()
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, c := range candidates {
		if c.broken != nil {
			out = append(out, "a profile that nobody named is passed over: "+oneLine(c.broken))
		}
	}
	for _, directory := range Directories(installed, caller) {
		out = append(out, misplaced(directory, directory == profilefiles.Site, root)...)
	}
	return out, nil
}

// misplaced lists what is wrong with a directory of profiles, and with the files in it, by owner and mode. A site's is for
// all users; hooks, which may run as root, take only what nobody but root can write to. Elsewhere a group may share one.
func misplaced(directory string, isSite bool, root uint32) []string {
	out := []string{}
	paths, _ := filepath.Glob(filepath.Join(directory, "*.yaml"))
	paths = slices.Insert(paths, 0, directory)
	if isSite {
		paths = slices.Insert(paths, 0, filepath.Dir(directory))
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		mode, uid, others := info.Mode().Perm(), info.Sys().(*syscall.Stat_t).Uid, fs.FileMode(0o004)
		if info.IsDir() {
			others = 0o005
		}
		switch {
		case isSite && uid != 0 && uid != root:
			out = append(out, fmt.Sprintf("%s belongs to user %d, so a hook takes no profile from it; chown root %s", path, uid, path))
		case mode&0o022 != 0 && isSite:
			out = append(out, fmt.Sprintf("%s has mode %04o: others can write to it, so a hook takes no profile from it; chmod go-w %s", path, mode, path))
		case mode&0o002 != 0:
			out = append(out, fmt.Sprintf("%s has mode %04o: others can write to it, and change what your launches do; chmod go-w %s", path, mode, path))
		case isSite && mode&others != others:
			out = append(out, fmt.Sprintf("%s has mode %04o: other users cannot read it, so their launches do without; chmod a+rX %s", path, mode, path))
		}
	}
	return out
}
