package sharedlib

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"

	"mpiimport.org/hooks/internal/leaves/regularfile"
)

const cacheFile = "/etc/ld.so.cache"

// What the cache of glibc 2.2 and newer begins with, and the sizes of its parts (ldconfig(8)).
const (
	cacheMagic = "glibc-ld.so.cache1.1"
	headerSize = 48
	entrySize  = 24
)

// Directories are searched by a loader behind its cache, whatever its architecture.
var Directories = []string{
	"/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu", "/lib", "/usr/lib",
}

// Loader finds libraries by name as ld.so of this machine, or of the container that we are in, would without any
// variables.
type Loader struct{ cached map[string][]string }

// NewLoader reads the cache; where there is none, the usual directories are left.
func NewLoader() *Loader {
	content, _ := regularfile.Read(cacheFile)
	return &Loader{parseCache(content)}
}

// Find returns the files that a name may mean, the likeliest first.
func (l *Loader) Find(name string) []string {
	out := append([]string{}, l.cached[name]...)
	for _, directory := range Directories {
		if file := filepath.Join(directory, name); isFile(file) {
			out = append(out, file)
		}
	}
	return out
}

func isFile(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// parseCache maps names to files; empty where the content is in no format that is known.
func parseCache(content []byte) map[string][]string {
	out := map[string][]string{}
	// The format before it may still stand in front.
	start := bytes.Index(content, []byte(cacheMagic))
	if start < 0 || len(content)-start < headerSize {
		return out
	}
	content = content[start:]
	text := func(at uint32) string {
		if uint64(at) >= uint64(len(content)) {
			return ""
		}
		word, _, _ := bytes.Cut(content[at:], []byte{0})
		return string(word)
	}
	count := uint64(binary.LittleEndian.Uint32(content[len(cacheMagic):]))
	for i := range min(count, uint64(len(content)-headerSize)/entrySize) {
		entry := content[headerSize+i*entrySize:]
		name := text(binary.LittleEndian.Uint32(entry[4:]))
		out[name] = append(out[name], text(binary.LittleEndian.Uint32(entry[8:])))
	}
	return out
}
