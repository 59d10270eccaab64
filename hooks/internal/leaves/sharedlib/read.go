// Package sharedlib says what shared libraries are and need, and where the loader of a machine finds them.
package sharedlib

import (
	"debug/elf"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// Library is what a shared library says of itself.
type Library struct {
	Path    string              // of the file, links followed
	Soname  string              // empty where it has none
	Machine elf.Machine         // what it is for
	Needed  []string            // the names of the libraries that it needs
	Places  []string            // where it has these looked for: absolute directories
	Needs   map[string][]string // symbol versions, by the name of the library that has to have them
	Has     []string            // its own symbol versions
}

// Read looks into a file.
func Read(file string) (Library, error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return Library{}, err
	}
	opened, err := regularfile.Open(real)
	if err != nil {
		return Library{}, fmt.Errorf("%s is no shared library: %w", file, err)
	}
	defer opened.Close()
	read, err := elf.NewFile(opened)
	if err != nil {
		return Library{}, fmt.Errorf("%s is no shared library: %w", file, err)
	}
	l := Library{Path: real, Machine: read.Machine}
	if l.Needed, err = read.DynString(elf.DT_NEEDED); err != nil {
		return Library{}, fmt.Errorf("%s is a damaged library: %w", file, err)
	}
	if sonames, err := read.DynString(elf.DT_SONAME); err == nil && len(sonames) > 0 {
		l.Soname = sonames[0]
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		paths, _ := read.DynString(tag)
		l.Places = append(l.Places, places(paths, filepath.Dir(real))...)
	}
	l.Needs, l.Has = versions(read)
	return l, nil
}

// IsForThisMachine says whether this program could load the library if it loaded any.
func (l Library) IsForThisMachine() bool {
	return l.Machine == map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
}

// places returns the directories of run paths; of what else may stand in them, nothing is known here.
func places(paths []string, origin string) []string {
	out := []string{}
	for _, list := range paths {
		for _, place := range strings.Split(list, ":") {
			place = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(place)
			if path.IsAbs(place) && !strings.Contains(place, "$") {
				out = append(out, path.Clean(place))
			}
		}
	}
	return out
}

// The names by which programs ask for an MPI library end in the number of its binary interface.
var mpiName = regexp.MustCompile(`^libmpi(?:ch)?(?:_[a-z0-9_]+)?\.so\.(12|20|40)$`)

// Family returns the MPI whose binary interface a library with this name has, as profiles call it; empty where it is
// none, or unknown.
func Family(name string) string {
	found := mpiName.FindStringSubmatch(name)
	switch {
	case found == nil:
		return ""
	case found[1] == "12":
		return "mpich"
	}
	return "openmpi"
}

// CLibrary is the name of GNU's C library.
const CLibrary = "libc.so.6"

var cPackage = regexp.MustCompile(`^(ld-linux.*|ld64|linux-vdso|lib(c|m|pthread|dl|rt|util|resolv|nsl|anl|mvec|thread_db|BrokenLocale))\.so\.[0-9]+$`)

// IsOfC says whether a library comes with the C library, of which a process has one.
func IsOfC(name string) bool { return cPackage.MatchString(name) }
