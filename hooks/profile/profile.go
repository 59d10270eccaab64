// Package profile reads site profiles: finds them by name, checks them strictly and merges what they extend.
//
// A profile takes four forms on its way, and each is there for what the next one has lost:
//
//   - The text becomes nodes of YAML (Parse). They are checked here (check) beside the one table of the format (shape):
//     nodes know line, quotes and anchors, so a mistake is named with its place, and 'no' is told from no.
//   - The nodes become values (values), one for each thing that is said, with file and line. Files are merged, compared and
//     locked (merge, together, obey), variables put into their places (For), and provenance is shown by values:
//     a struct could not tell what is said from what is left out, nor who said it.
//   - The values become one node again (document), as if the merged profile had been written in one file.
//   - The library decodes that node into the struct Profile (decode), by which launches are planned. So the struct's tags
//     are the only code that knows where a key's value goes. It is done once more for what holds in user namespaces.
package profile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"mpiimport.org/hooks/internal/leaves/profilefiles"
)

// Profile is one profile with everything it extends merged in.
type Profile struct {
	SchemaVersion int               `yaml:"schema_version"`
	Name          string            `yaml:"name"`
	Description   string            `yaml:"description"`
	Extends       names             `yaml:"extends"`
	Hosts         []string          `yaml:"hosts"`
	HostVariables map[string]string `yaml:"host_variables"`
	Mounts        []Mount           `yaml:"mounts"`
	Devices       []Device          `yaml:"devices"`
	Environment   Environment       `yaml:"environment"`
	// UserNamespace has all that holds in a user namespace: what Environment says, too.
	UserNamespace struct {
		Environment Environment `yaml:"environment"`
	} `yaml:"user_namespace"`
	MPI       MPI       `yaml:"mpi"`
	Launcher  Launcher  `yaml:"launcher"`
	Service   Service   `yaml:"service"`
	Container Container `yaml:"container"`
	Snapshot  Snapshot  `yaml:"snapshot"`

	// Values are its contents one by one, each with its place; empty for the built-in default.
	Values []Value `yaml:"-"`
	// Locks hold whatever extends or masks the profile, and the caller.
	Locks []Lock `yaml:"-"`
	// Files are the files this was read from, the base first; empty for the built-in default.
	Files []string `yaml:"-"`
}

// Environment says how variables change.
type Environment struct {
	Set     map[string]string `yaml:"set"`
	Default map[string]string `yaml:"default"`
	Append  map[string]string `yaml:"append"`
	Keep    []string          `yaml:"keep"`
	Unset   []string          `yaml:"unset"`
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

// Device is a device node of the host, or a pattern of such, that programs in the container use.
type Device struct {
	Path     string `yaml:"path"`
	Optional bool   `yaml:"optional"`
	File     string `yaml:"-"`
	Line     int    `yaml:"-"`
}

// MPI is the image's MPI library.
type MPI struct {
	Library string   `yaml:"library"`
	ABI     string   `yaml:"abi"`
	Preload []string `yaml:"preload"`
	Binding string   `yaml:"binding"`
	Inject  Inject   `yaml:"inject"`
}

// Inject is the host's MPI that is to take the place of the image's.
type Inject struct {
	From   string   `yaml:"from"`
	Search []string `yaml:"search"`
}

// Launcher says how jobs are started.
type Launcher struct {
	Prefix    []string `yaml:"prefix"`
	Variables struct {
		Rank      string `yaml:"rank"`
		Size      string `yaml:"size"`
		LocalSize string `yaml:"local_size"`
	} `yaml:"variables"`
}

// Service has the options of the import service, as their variables have them: a list is a colon list.
type Service map[string]string

var truthWords = map[string]string{"true": "1", "false": "0"}

// UnmarshalYAML joins lists, and writes truth values as variables have them.
func (s *Service) UnmarshalYAML(node *yaml.Node) error {
	*s = Service{}
	for i := 0; i < len(node.Content); i += 2 {
		name, value := node.Content[i].Value, node.Content[i+1]
		words := []string{}
		switch {
		case value.ShortTag() == "!!bool":
			words = append(words, truthWords[strings.ToLower(value.Value)])
		case value.Kind != yaml.SequenceNode:
			words = append(words, value.Value)
		}
		for _, item := range value.Content {
			words = append(words, item.Value)
		}
		(*s)[name] = strings.Join(words, ":")
	}
	return nil
}

// Container says how containers are started.
type Container struct {
	Options []string `yaml:"options"`
	PerNode bool     `yaml:"per_node"`
}

// Snapshot says how snapshots come to the nodes of large jobs.
type Snapshot struct {
	Broadcast string `yaml:"broadcast"`
	Remove    string `yaml:"remove"`
	Nodes     int    `yaml:"nodes"`
}

// DefaultName names the profile that is taken where none is named.
const DefaultName = profilefiles.Default

// Default is that profile where no directory has one of that name. It changes nothing.
func Default() *Profile {
	return &Profile{SchemaVersion: 1, Name: DefaultName, Description: "No changes for a machine or an MPI."}
}

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

// UnmarshalYAML keeps the line.
func (d *Device) UnmarshalYAML(node *yaml.Node) error {
	type plain Device
	err := node.Decode((*plain)(d))
	d.Line = node.Line
	return err
}

// decode makes a profile of its values.
func decode(all []Value, files []string) (*Profile, error) {
	p := &Profile{Values: all, Files: files}
	if err := document(all).Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %s; this is a fault of mpiimport, please report it", files[len(files)-1], yamlMessage(err))
	}
	var inside Profile
	if err := document(inUserNamespace(all)).Decode(&inside); err != nil {
		return nil, fmt.Errorf("%s: %s; this is a fault of mpiimport, please report it", files[len(files)-1], yamlMessage(err))
	}
	p.UserNamespace.Environment = inside.Environment
	mounts, devices := 0, 0
	for _, v := range all {
		switch v.Key {
		case "mounts":
			p.Mounts[mounts].File = v.File
			mounts++
		case "devices":
			p.Devices[devices].File = v.File
			devices++
		}
	}
	return p, nil
}
