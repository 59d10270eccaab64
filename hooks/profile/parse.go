package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mpiimport.org/hooks/internal/leaves/regularfile"
)

const topLevel = "the profile"

// largestFile is in bytes.
const largestFile = 1 << 20

// Parse checks one file's text and returns what it says, without what it extends.
func Parse(file string, content []byte) (*Profile, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1: the file is empty; write a profile (schema_version, name, description)", file)
	} else if err != nil {
		return nil, fmt.Errorf("%s: this is not YAML: %s; check indentation and quotes there", at(file, err), yamlMessage(err))
	}
	root := document.Content[0]
	if err := check(file, topLevel, root, profileShape); err != nil {
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: a second YAML document follows the profile; keep one profile in each file", file)
	}
	said := values(file, topLevel, root, profileShape)
	if err := errors.Join(contradiction(said), oddCondition(said)); err != nil {
		return nil, err
	}
	said = merge(nil, said)
	p, err := decode(said, []string{file})
	if err != nil {
		return nil, err
	}
	p.Locks = newLocks(said, said)
	if base := strings.TrimSuffix(filepath.Base(file), ".yaml"); p.Name != base {
		return nil, fmt.Errorf("%s: name is %q, but the file is called %s.yaml; make them equal", file, p.Name, base)
	}
	for _, m := range p.Mounts {
		if isGlob(m.Source) && m.Target != "" {
			return nil, fmt.Errorf("%s:%d: the source %s is a glob pattern, so it cannot have the one target %s; remove target",
				file, m.Line, m.Source, m.Target)
		}
		if isDevice(m.Source) {
			return nil, fmt.Errorf("%s:%d: %s is a device, and no program can open a device that is mounted; list it under devices",
				file, m.Line, m.Source)
		}
	}
	return p, nil
}

// contradiction returns an error where one section of a file changes a variable in two ways that exclude each other.
func contradiction(said []Value) error {
	for i, v := range said {
		for _, earlier := range said[:i] {
			if v.Key != earlier.Key && v.replaces(earlier) {
				return fmt.Errorf("%s:%d: %s is under %s and under %s (line %d); keep one",
					v.File, v.Line, v.variable(), earlier.way(), v.way(), earlier.Line)
			}
		}
	}
	return nil
}

func isGlob(path string) bool { return strings.ContainsAny(path, "*?[") }

// isDevice says whether what lies at a path is a device node. The rest of /dev is file systems and a socket.
func isDevice(path string) bool {
	name, below := strings.CutPrefix(filepath.Clean(path), "/dev/")
	first, _, _ := strings.Cut(name, "/")
	return below && !slices.Contains([]string{"shm", "mqueue", "hugepages", "pts", "log"}, first)
}

// at adds the line that a YAML error names.
func at(file string, err error) string {
	var line int
	if _, scanErr := fmt.Sscanf(err.Error(), "yaml: line %d:", &line); scanErr == nil {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}

func yamlMessage(err error) string {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(message, "line "); found {
		if _, words, ok := strings.Cut(rest, ": "); ok {
			return words
		}
	}
	return message
}

func readFile(file string) (*Profile, error) {
	content, err := regularfile.ReadUpTo(file, largestFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the profile %s: %w", file, err)
	}
	return Parse(file, content)
}
