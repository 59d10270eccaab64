package snapshotstart

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// headFile is where an entry has the text with which a script must begin, byte for byte, to start from its base.
const headFile = "head"

// directoryFile is where an entry has the directory in which such a script must lie, if that is not any.
const directoryFile = "head_directory"

// longestHead is in bytes: no more is read of a script.
const longestHead = 1 << 20

// Begin names the bases of all scripts that are started alike, by the facts of one of them. It is empty for a module.
func Begin(facts []Fact, words []string) string {
	if len(program(words)) != 1 || isSpawned(words) {
		return ""
	}
	return "begin-" + digest(slices.DeleteFunc(slices.Clone(facts), isProgram))
}

// longestBegin returns the directory with the longest begin among these with which the script begins, or nothing.
func longestBegin(script string, paths []string) string {
	text, directory := beginning(script), directoryOf(script)
	longest, found := 0, ""
	for _, path := range paths {
		head, err := regularfile.ReadUpTo(filepath.Join(path, headFile), longestHead)
		only, none := regularfile.ReadUpTo(filepath.Join(path, directoryFile), syscall.PathMax)
		isThere := none != nil || string(only) == directory
		if err == nil && isThere && len(head) > longest && bytes.HasPrefix(text, head) {
			longest, found = len(head), path
		}
	}
	return found
}

// directoryOf returns the directory that Python puts first on the search path.
func directoryOf(script string) string {
	path, err := filepath.EvalSymlinks(script)
	if err != nil {
		return ""
	}
	path, _ = filepath.Abs(path)
	return filepath.Dir(path)
}

func beginning(script string) []byte {
	file, err := regularfile.Open(script)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, longestHead))
	return text
}
