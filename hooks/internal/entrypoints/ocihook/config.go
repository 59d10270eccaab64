// Package ocihook carries launch plans out on containers that an OCI runtime is about to start.
package ocihook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// ProfileAnnotation names the profile of a container; without it a container is left alone.
const ProfileAnnotation = "org.mpiimport.profile"

// config is a container's config.json. What is not edited is kept as the text it came as, so that nothing is lost
// that this program does not know.
type config struct {
	whole, process map[string]json.RawMessage
	annotations    map[string]string
	args, env      []string
	mounts         []mount
	root           string
	user           uint32
	userIDs        []specs.LinuxIDMapping
	namespaces     []specs.LinuxNamespace
}

// mount is one of the mounts, and what was said of it.
type mount struct {
	specs.Mount
	text json.RawMessage
}

// parse reads a config.json. An error means that it is none, or of a version that is not understood.
func parse(text []byte) (*config, error) {
	c := &config{}
	// Decoding would replace such bytes, in variables and paths too.
	if !utf8.Valid(text) {
		return nil, errors.New("config.json is not understood: it is not UTF-8")
	}
	if err := json.Unmarshal(text, &c.whole); err != nil {
		return nil, fmt.Errorf("config.json is not understood: %w", err)
	}
	version, root := "", specs.Root{}
	user := struct{ UID uint32 }{}
	linux := struct {
		Namespaces  []specs.LinuxNamespace
		UIDMappings []specs.LinuxIDMapping
	}{}
	mounts := []json.RawMessage{}
	err := errors.Join(
		member(c.whole, "ociVersion", &version), member(c.whole, "annotations", &c.annotations),
		member(c.whole, "process", &c.process), member(c.whole, "mounts", &mounts),
		member(c.whole, "root", &root), member(c.whole, "linux", &linux),
	)
	if err == nil {
		err = errors.Join(member(c.process, "args", &c.args), member(c.process, "env", &c.env), member(c.process, "user", &user))
	}
	for _, text := range mounts {
		m := mount{text: text}
		err = errors.Join(err, json.Unmarshal(text, &m.Mount))
		c.mounts = append(c.mounts, m)
	}
	if err != nil {
		return nil, fmt.Errorf("config.json is not understood: %w", err)
	}
	if !known(version) {
		return nil, fmt.Errorf("config.json has ociVersion %q, and only version 1 is understood", version)
	}
	c.root, c.user, c.namespaces, c.userIDs = root.Path, user.UID, linux.Namespaces, linux.UIDMappings
	return c, nil
}

// known says whether a version of the OCI runtime specification is one that this program was written for.
func known(version string) bool { return strings.HasPrefix(version, "1.") }

// member decodes one member of an object by its exact name; encoding/json alone would take Process for process.
func member(object map[string]json.RawMessage, name string, value any) error {
	text, ok := object[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// has says whether the container gets a new namespace of this kind or joins one that is not the host's.
func (c *config) has(kind specs.LinuxNamespaceType) bool {
	return slices.ContainsFunc(c.namespaces, func(n specs.LinuxNamespace) bool { return n.Type == kind })
}

// isFirst says whether the container's command is the first process of a new pid namespace.
func (c *config) isFirst() bool {
	return slices.ContainsFunc(c.namespaces, func(n specs.LinuxNamespace) bool {
		return n.Type == specs.PIDNamespace && n.Path == ""
	})
}

// format writes the configuration with the command, environment and mounts as they are now.
func (c *config) format() ([]byte, error) {
	mounts := []json.RawMessage{}
	for _, m := range c.mounts {
		if m.text == nil {
			text, err := marshal(m.Mount)
			if err != nil {
				return nil, err
			}
			m.text = text
		}
		mounts = append(mounts, m.text)
	}
	var err error
	put := func(object map[string]json.RawMessage, name string, value any) {
		text, failed := marshal(value)
		object[name], err = text, errors.Join(err, failed)
	}
	put(c.process, "args", c.args)
	put(c.process, "env", c.env)
	put(c.whole, "process", c.process)
	put(c.whole, "mounts", mounts)
	if err != nil {
		return nil, err
	}
	return marshal(c.whole)
}

func marshal(value any) ([]byte, error) {
	out := bytes.Buffer{}
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
