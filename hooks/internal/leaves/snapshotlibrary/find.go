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

	"mpiimport.org/hooks/internal/leaves/rankenv"
)

// names has, in a library, an empty file for each name of a program that was prepared.
const names = "names"

// Images returns the snapshots, and their bases, of the programs that a command line names, if nobody else can have made them.
func (l Library) Images(line []string) []string {
	if !l.IsTrusted() {
		return nil
	}
	found, files := []string{}, os.DirFS(l.Path)
	entries, _ := fs.Glob(files, "*/"+since)
	for _, entry := range entries {
		key := filepath.Dir(entry)
		text, _ := os.ReadFile(filepath.Join(l.Path, key, program))
		_, path, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		names := func(word string) bool { return filepath.Base(word) == filepath.Base(path) }
		if path == "" || !slices.ContainsFunc(line, names) {
			continue
		}
		for _, name := range []string{image, base} {
			images, _ := fs.Glob(files, filepath.Join(key, machine, name))
			for _, each := range images {
				found = append(found, filepath.Join(l.Path, each))
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

// Entry is what was prepared of one program.
type Entry struct {
	Path     string
	IsOthers bool      // it is of a library that need not be the user's
	born     time.Time // it got its first snapshot
}

// Find returns what was prepared by this key, if it is there, and nobody else can have made it; else nil.
func (l Library) Find(key string) *Entry {
	path := filepath.Join(l.Path, key)
	info, err := os.Lstat(filepath.Join(path, since))
	if err != nil || !l.IsTrusted() {
		return nil
	}
	return &Entry{path, l.isOthers, info.ModTime()}
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
