// Package snapshotsending has snapshots of a library sent to the memory of a job's nodes, before its ranks start: so many nodes
// would read one file of a shared file system at once. What starts from them, restorer/sent.c, opens what has come; elsewhere it opens
// the file of the library, so no mistake here costs more than time.
package snapshotsending

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mpiimport.org/hooks/internal/leaves/filesystems"
	"mpiimport.org/hooks/internal/leaves/snapshotlibrary"
	"mpiimport.org/hooks/internal/leaves/storecache"
)

// Commands are for a shell: Send sends one file, {file}, to the path {to} of each node of the job; Remove removes all that came, {to}.
type Commands struct{ Send, Remove string }

const (
	// A part of the room in a node's memory that all files together may take: 1/partOfRoom.
	partOfRoom = 4
	// What a batch system does not do in this time it does not do at all.
	patience = 2 * time.Minute
	// A name of what was sent stands in the place of it.
	star = "*"
)

// Sent is what lies in the memory of the nodes.
type Sent struct {
	Pattern string // the path of each file, with * in the place of what tells one from another
	paths   []string
	remove  string
}

// Send sends the snapshots that a library has of the programs on a launcher's line. It returns nil where there are none. With an error
// nothing of them is left. directory: of the nodes' memory.
func Send(commands Commands, library, directory string, line, env []string) (*Sent, error) {
	files := snapshotlibrary.Images(library, line)
	if len(files) == 0 {
		return nil, nil
	}
	files, err := fitting(files, directory)
	if err != nil {
		return nil, err
	}
	sent, err := name(directory, env)
	if err != nil {
		return nil, err
	}
	sent.remove = commands.Remove
	for _, file := range files {
		to := strings.Replace(sent.Pattern, star, nameOf(file), 1)
		sent.paths = append(sent.paths, to)
		if err := run(strings.NewReplacer("{file}", quoted(file), "{to}", quoted(to)).Replace(commands.Send), env); err != nil {
			if left := sent.Remove(env); left != nil {
				err = fmt.Errorf("%w; some may be left there, as %s: %w", err, sent.Pattern, left)
			}
			return nil, err
		}
	}
	return sent, nil
}

// Remove removes it from all nodes.
func (s *Sent) Remove(env []string) error {
	words := []string{}
	for _, path := range s.paths {
		words = append(words, quoted(path))
	}
	return run(strings.ReplaceAll(s.remove, "{to}", strings.Join(words, " ")), env)
}

// name makes a path that nobody can have foreseen: what is sent might be written through another user's link. It ends as the names of
// all that a batch job keeps.
func name(directory string, env []string) (*Sent, error) {
	var token [12]byte
	owner, known := storecache.Owner()
	if _, err := rand.Read(token[:]); err != nil || !known {
		return nil, errors.Join(err, errors.New("this user has no number"))
	}
	file := fmt.Sprintf("mpiimport-%d.%s.%s.snapshot%s", owner, hex.EncodeToString(token[:]), star, storecache.BatchJob(env))
	return &Sent{Pattern: filepath.Join(directory, file)}, nil
}

// nameOf tells KEY/MACHINE/image from all others, wherever a container has the library.
func nameOf(file string) string {
	parts := strings.Split(file, "/")
	return strings.Join(parts[len(parts)-3:], "-")
}

// fitting returns the files for which there is room, those used last first.
func fitting(files []string, directory string) ([]string, error) {
	if kind := filesystems.OfDirectory(directory, filesystems.Mountinfo); kind != "tmpfs" && kind != "ramfs" {
		return nil, fmt.Errorf("%s is no memory of this node", directory)
	}
	var room syscall.Statfs_t
	if err := syscall.Statfs(directory, &room); err != nil {
		return nil, &os.PathError{Op: "statfs", Path: directory, Err: err}
	}
	if room.Flags&syscall.MS_NOEXEC != 0 {
		return nil, fmt.Errorf("nothing in %s can be executed (noexec)", directory)
	}
	left := int64(room.Bavail) * room.Bsize / partOfRoom
	type used struct {
		file       string
		size, last int64
	}
	found := []used{}
	for _, file := range files {
		var status syscall.Stat_t
		if err := syscall.Lstat(file, &status); err == nil {
			found = append(found, used{file, status.Size, max(status.Atim.Nano(), status.Mtim.Nano())})
		}
	}
	slices.SortFunc(found, func(a, b used) int { return cmp.Compare(b.last, a.last) })
	chosen := []string{}
	for _, each := range found {
		if each.size <= left {
			chosen, left = append(chosen, each.file), left-each.size
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("a quarter of the room in %s is not enough", directory)
	}
	return chosen, nil
}

// run has a shell run a command, and returns the last line that it has said where it fails.
func run(command string, env []string) error {
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	said := &bytes.Buffer{}
	shell := exec.CommandContext(limit, "/bin/sh", "-c", command)
	shell.Env, shell.Stdout, shell.Stderr, shell.WaitDelay = env, said, said, time.Second
	err := shell.Run()
	if err == nil {
		return nil
	}
	if limit.Err() != nil {
		return fmt.Errorf("it took more than %.0f s: %s", patience.Seconds(), command)
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Errorf("%w: %s: %s", err, command, last)
	}
	return fmt.Errorf("%w: %s", err, command)
}

// quoted is a word of a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
