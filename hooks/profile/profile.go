// Package profile reads site profiles: finds them by name, checks them strictly and merges what they extend.
package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

const topLevel = "the profile"

// Profile is one profile with everything it extends merged in.
type Profile struct {
	SchemaVersion int         `yaml:"schema_version"`
	Name          string      `yaml:"name"`
	Description   string      `yaml:"description"`
	Extends       string      `yaml:"extends"`
	Mounts        []Mount     `yaml:"mounts"`
	Environment   Environment `yaml:"environment"`
	UserNamespace struct {
		Environment Environment `yaml:"environment"`
	} `yaml:"user_namespace"`
	Service map[string]string `yaml:"service"`

	// Files are the files this was read from, the base first; empty for the built-in default.
	Files []string `yaml:"-"`
}

// Environment says how variables change.
type Environment struct {
	Set    map[string]string `yaml:"set"`
	Append map[string]string `yaml:"append"`
	Unset  []string          `yaml:"unset"`
}

// Mount is a file or directory of the host that the container sees. File and Line tell where it was asked for.
type Mount struct {
	Source   string `yaml:"source"`
	Target   string `yaml:"target"`
	Optional bool   `yaml:"optional"`
	Options  string `yaml:"options"`
	File     string `yaml:"-"`
	Line     int    `yaml:"-"`
}

// DefaultName names the built-in profile, which changes nothing.
const DefaultName = "default"

// Default is what applies where no profile is named.
func Default() *Profile {
	return &Profile{SchemaVersion: 1, Name: DefaultName, Description: "No changes for a machine or an MPI."}
}

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
	p := &Profile{Files: []string{file}}
	if err := root.Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %s; this is a fault of mpiimport, please report it", file, yamlMessage(err))
	}
	if base := strings.TrimSuffix(filepath.Base(file), ".yaml"); p.Name != base {
		return nil, fmt.Errorf("%s: name is %q, but the file is called %s.yaml; make them equal", file, p.Name, base)
	}
	for _, e := range []Environment{p.Environment, p.UserNamespace.Environment} {
		for _, name := range e.Unset {
			if _, set := e.Set[name]; set {
				return nil, fmt.Errorf("%s: %s is both set and unset; keep one", file, name)
			}
		}
	}
	for i, m := range p.Mounts {
		if isGlob(m.Source) && m.Target != "" {
			return nil, fmt.Errorf("%s:%d: the source %s is a glob pattern, so it cannot have the one target %s; remove target",
				file, m.Line, m.Source, m.Target)
		}
		p.Mounts[i].File = file
	}
	return p, nil
}

func isGlob(path string) bool { return strings.ContainsAny(path, "*?[") }

// UnmarshalYAML keeps the line, so that a source that is missing at launch can be reported with its place.
func (m *Mount) UnmarshalYAML(node *yaml.Node) error {
	type plain Mount
	if err := node.Decode((*plain)(m)); err != nil {
		return err
	}
	m.Line = node.Line
	if m.Target == "" && !isGlob(m.Source) {
		m.Target = m.Source
	}
	if m.Options == "" {
		m.Options = "ro"
	}
	return nil
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
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the profile %s: %w", file, err)
	}
	return Parse(file, content)
}

// over returns base with p's additions: mappings merged, lists appended.
func (p *Profile) over(base *Profile) *Profile {
	merged := *p
	merged.Mounts = append(append([]Mount{}, base.Mounts...), p.Mounts...)
	merged.Environment = p.Environment.Over(base.Environment)
	merged.UserNamespace.Environment = p.UserNamespace.Environment.Over(base.UserNamespace.Environment)
	merged.Service = mergeMaps(base.Service, p.Service)
	merged.Files = append(append([]string{}, base.Files...), p.Files...)
	return &merged
}

// Over returns base with e's changes on top; what e says of a variable beats what base says of it.
func (e Environment) Over(base Environment) Environment {
	out := Environment{Set: mergeMaps(base.Set, e.Set), Append: mergeMaps(base.Append, e.Append)}
	for _, name := range base.Unset {
		if _, set := e.Set[name]; !set {
			out.Unset = append(out.Unset, name)
		}
	}
	for _, name := range e.Unset {
		if _, set := e.Set[name]; !set {
			delete(out.Set, name)
		}
		if !contains(out.Unset, name) {
			out.Unset = append(out.Unset, name)
		}
	}
	return out
}

func mergeMaps(base, addition map[string]string) map[string]string {
	merged := map[string]string{}
	for k, v := range base {
		merged[k] = v
	}
	for k, v := range addition {
		merged[k] = v
	}
	return merged
}
