// Package jobnotes has small files by which processes of a job tell the `mpiimport run` that started it what became of
// them. They lie in a directory of the user's own cache, which ranks on other nodes see where the nodes share it.
package jobnotes

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/rankenv"
)

// Names of notes. A rank 0 has one of its own, which begins with Rank; tasks have one for each way to start.
const (
	Rank      = "rank-"
	Task      = "task-"
	Container = "container" // a container starts, in which the directory may not be there
	Inside    = "inside"    // it is there in a container
)

const (
	// The name of our directory in the user's cache.
	cache = "mpiimport"
	// A directory that nobody holds is left alone so long: its owner may be about to lock it.
	young = time.Minute
	// Bytes of a note that are read, and the number of notes.
	longest, most = 4096, 1000
)

// Directory is a directory of notes, which this process holds by a lock.
type Directory struct {
	Path string
	lock *os.File
}

// Begin makes a directory of notes, and removes those that processes that were killed have left behind.
func Begin(env []string) (Directory, error) {
	parent, err := parent(env)
	if err != nil {
		return Directory{}, err
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return Directory{}, err
	}
	sweep(parent)
	var random [12]byte
	if _, err := rand.Read(random[:]); err != nil {
		return Directory{}, err
	}
	path := filepath.Join(parent, hex.EncodeToString(random[:]))
	if err := os.Mkdir(path, 0o700); err != nil {
		return Directory{}, err
	}
	d := Directory{Path: path}
	if d.lock, err = os.Open(path); err == nil {
		err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		d.Remove()
		return Directory{}, err
	}
	return d, nil
}

// parent lies beside learned manifests: XDG Base Directory Specification.
func parent(env []string) (string, error) {
	directory, _ := environ.Get(env, "XDG_CACHE_HOME")
	if !filepath.IsAbs(directory) {
		home, _ := environ.Get(env, "HOME")
		if !filepath.IsAbs(home) || home == "/" {
			return "", os.ErrNotExist
		}
		directory = filepath.Join(home, ".cache")
	}
	return filepath.Join(directory, cache, "jobs"), nil
}

func sweep(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < young || len(entry.Name()) != 24 {
			continue
		}
		left := Directory{Path: filepath.Join(parent, entry.Name())}
		if left.lock, err = os.Open(left.Path); err != nil {
			continue
		}
		if syscall.Flock(int(left.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			left.Remove()
		} else {
			left.lock.Close()
		}
	}
}

// Remove takes the directory away, with all notes.
func (d Directory) Remove() {
	names, _ := os.ReadDir(d.Path)
	for _, name := range names {
		_ = os.Remove(filepath.Join(d.Path, name.Name()))
	}
	// So are those that were made for it, where nothing else is in them.
	for path := d.Path; os.Remove(path) == nil && filepath.Base(path) != cache; {
		path = filepath.Dir(path)
	}
	if d.lock != nil {
		d.lock.Close()
	}
}

// Read returns the lines of all notes by their names.
func (d Directory) Read() map[string][]string {
	notes := map[string][]string{}
	entries, _ := os.ReadDir(d.Path)
	for _, entry := range entries[:min(len(entries), most)] {
		if !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		file, err := os.OpenFile(filepath.Join(d.Path, entry.Name()), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		text := make([]byte, longest)
		length, _ := file.Read(text)
		file.Close()
		notes[entry.Name()] = strings.Split(strings.TrimSuffix(string(text[:length]), "\n"), "\n")
	}
	return notes
}

// Leave leaves a note where a job is watched: lines of text, if any.
func Leave(env []string, name string, lines ...string) {
	if directory, _ := environ.Get(env, ourvars.Job); filepath.IsAbs(directory) {
		if file, err := os.OpenFile(filepath.Join(directory, name), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600); err == nil {
			_, _ = file.WriteString(strings.Join(lines, "\n"))
			file.Close()
		}
	}
}

const snapshot = "from a snapshot"

// LeadToSnapshot notes that this process becomes a snapshot. It may come back, with its own pid: then it calls ComeBack.
func LeadToSnapshot(env []string) {
	if rankenv.SpeaksForJob(env) {
		Leave(env, ofThisProcess(env), snapshot, snapshot)
	}
}

// ComeBack takes back what LeadToSnapshot has noted.
func ComeBack(env []string) {
	if directory, _ := environ.Get(env, ourvars.Job); filepath.IsAbs(directory) && rankenv.SpeaksForJob(env) {
		_ = os.Remove(filepath.Join(directory, ofThisProcess(env)))
	}
}

func ofThisProcess(env []string) string {
	if !rankenv.IsRank(env) {
		return Task + snapshot
	}
	host, _ := os.Hostname()
	return Rank + host + "-" + strconv.Itoa(os.Getpid())
}
