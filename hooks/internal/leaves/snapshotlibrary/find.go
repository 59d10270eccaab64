// Package snapshotlibrary finds what people have prepared: snapshots in a directory that nodes share. The layout is that of
// mpiimport/snapshot/image/library.py, which fills it.
package snapshotlibrary

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/storecache"
)

// InContainer is where a launch plan brings the library.
const InContainer = "/.mpiimport-snapshots"

// names has, in a library, an empty file for each name of a program that was prepared.
const names = "names"

// MayHave says whether a library has a program that a command line names.
func MayHave(library string, line []string) bool {
	return library != "" && slices.ContainsFunc(line, func(word string) bool {
		return Had(library, filepath.Base(word))
	})
}

// Had says whether a library had a program of this name once.
func Had(library, name string) bool {
	_, err := os.Lstat(filepath.Join(library, names, name))
	return err == nil
}

// Images returns the snapshots, and their bases, of the programs that a command line names, if nobody else can have made them.
func Images(library string, line []string) []string {
	library, isThere := There(library)
	if !isThere || !storecache.IsOwn(library) {
		return nil
	}
	found, files := []string{}, os.DirFS(library)
	entries, _ := fs.Glob(files, "*/"+since)
	for _, entry := range entries {
		key := filepath.Dir(entry)
		text, _ := os.ReadFile(filepath.Join(library, key, program))
		_, path, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		names := func(word string) bool { return filepath.Base(word) == filepath.Base(path) }
		if path == "" || !slices.ContainsFunc(line, names) {
			continue
		}
		for _, name := range []string{image, base} {
			images, _ := fs.Glob(files, filepath.Join(key, machine, name))
			for _, each := range images {
				found = append(found, filepath.Join(library, each))
			}
		}
	}
	return found
}

// program is a file of an entry: the name of its Python, and the path of its program.
const program = "program"

// machine stands for the name of a kind of machine, which an entry has snapshots for.
var machine = strings.Repeat("?", 16)

// image is the snapshot for a kind of machine, base its base.
const (
	image = "image"
	base  = "image.base"
)

// since is a file of an entry: its time is when the entry got its first snapshot.
const since = "since"

// Directory returns the library of this user, as the environment names it or in the directory for caches (XDG Base Directory
// Specification). It is empty where there is none, or where snapshots are switched off. It need not be there.
func Directory(env []string) string {
	if wanted, _ := environ.Get(env, ourvars.Snapshot); wanted == "0" {
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

// There returns where a library is, if it is there: behind a link, for people move what is large. What the link leads to must be
// theirs alone.
func There(library string) (string, bool) {
	info, err := os.Lstat(library)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		library, err = filepath.EvalSymlinks(library)
	}
	return library, err == nil
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

// Entry is what was prepared of one program.
type Entry struct {
	Path string
	born time.Time // it got its first snapshot
}

// Find returns what was prepared by this key, if it is there, and nobody else can have made it; else nil.
func Find(library, key string) *Entry {
	path := filepath.Join(library, key)
	info, err := os.Lstat(filepath.Join(path, since))
	if err != nil || !storecache.IsOwn(library) {
		return nil
	}
	return &Entry{path, info.ModTime()}
}

// Margins are how long an entry must have been there before ranks use it. Ranks of one job begin at moments of their own, and a node
// may not see for a minute what another one has written. All ranks must see the entry, or none: those that start from a snapshot
// take no part when others agree on the service.
const (
	OfOneNode      = 2 * time.Second
	OfSeveralNodes = 2 * time.Minute
)

// Remaining returns for how long the ranks of this job are not to use an entry yet.
func (e *Entry) Remaining(env []string) time.Duration {
	margin := OfSeveralNodes
	switch {
	case !rankenv.IsRank(env):
		return 0
	case rankenv.IsOneNode(env):
		margin = OfOneNode
	}
	return max(0, margin-time.Since(e.born))
}
