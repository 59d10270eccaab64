package snapshotlibrary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/storecache"
)

// InContainer is where a launch plan brings the library of the user. Behind its name stand - and a number where those of others are.
const InContainer = "/.mpiimport-snapshots"

// Library is a directory with snapshots.
type Library struct {
	Path     string
	isOthers bool // root may have filled it, not this user alone
}

// Own returns the library of this user. What is not there has nothing.
func Own(env []string) Library { return Library{BehindLink(Directory(env)), false} }

// Libraries returns those that processes of this user look into, in this order: the user's, if it is named, then others.
func Libraries(own string, env []string) []Library {
	return append(existing(false, own), OfOthers(env, "")...)
}

// besideImage is behind the name of an image file in that of the library of its programs.
const besideImage = ".mpiimport"

// OfOthers returns the libraries of the site, then that beside an image file, unless snapshots are switched off.
func OfOthers(env []string, image string) []Library {
	if isOff(env) {
		return nil
	}
	named, _ := environ.Get(env, ourvars.SiteSnapshots)
	paths := filepath.SplitList(named)
	if image != "" {
		if image, err := filepath.Abs(image); err == nil {
			paths = append(paths, image+besideImage)
		}
	}
	return existing(true, paths...)
}

// BehindLink returns where a library is that may be a link, for people move what is large.
func BehindLink(library string) string {
	if info, err := os.Lstat(library); err == nil && info.Mode()&os.ModeSymlink != 0 {
		library, _ = filepath.EvalSymlinks(library)
	}
	return library
}

// existing returns the libraries that are there.
func existing(isOthers bool, paths ...string) []Library {
	found := []Library{}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			path = BehindLink(path)
			info, err = os.Lstat(path)
		}
		if filepath.IsAbs(path) && err == nil && info.IsDir() {
			found = append(found, Library{path, isOthers})
		}
	}
	return found
}

// IsTrusted says whether nobody else can have put anything into it: but root, if it need not be the user's. Of what a launch plan has
// brought it has seen that outside of the container.
func (l Library) IsTrusted() bool {
	return l.isOthers && strings.HasPrefix(l.Path, InContainer+"-") || storecache.IsClosed(l.Path, l.isOthers)
}

// MayHave says whether it has a program that a command line names.
func (l Library) MayHave(line []string) bool {
	return slices.ContainsFunc(line, func(word string) bool { return l.Had(filepath.Base(word)) })
}

// Had says whether it had a program of this name once.
func (l Library) Had(name string) bool {
	_, err := os.Lstat(filepath.Join(l.Path, names, name))
	return err == nil
}

// Directory returns the library of this user, as the environment names it or in the directory for caches (XDG Base Directory
// Specification). It is empty where there is none, or where snapshots are switched off. It need not be there.
func Directory(env []string) string {
	if isOff(env) {
		return ""
	}
	if named, _ := environ.Get(env, ourvars.Snapshots); named != "" {
		if !filepath.IsAbs(named) {
			return ""
		}
		return filepath.Clean(named)
	}
	cache, _ := environ.Get(env, "XDG_CACHE_HOME")
	if !filepath.IsAbs(cache) {
		home, _ := environ.Get(env, "HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "mpiimport", "snapshots")
}

func isOff(env []string) bool {
	wanted, _ := environ.Get(env, ourvars.Snapshot)
	return wanted == "0"
}

// Make makes the library where it is named, or where the user's home is: a library is not what makes one.
func Make(library string, env []string) error {
	if named, _ := environ.Get(env, ourvars.Snapshots); named == "" {
		home, _ := environ.Get(env, "HOME")
		if _, err := os.Stat(home); err != nil {
			return err
		}
	}
	return os.MkdirAll(library, 0o700)
}
