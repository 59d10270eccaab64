// Package released keeps the list of profiles that the OCI hook may serve. An annotation that names a profile need not
// come from a person: an image, or the author of a pod, can bring it. So the administrator releases each profile.
package released

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"go.yaml.in/yaml/v3"

	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/publish"
	"mpiimport.org/hooks/internal/leaves/regularfile"
	"mpiimport.org/hooks/internal/leaves/yamltext"
	"mpiimport.org/hooks/profile"
)

// List has what is released, by the names of the profiles.
type List map[string]Terms

// Terms say what a released profile may do.
type Terms struct {
	// Writable has what of the host containers may write to, as the profile writes it: sources of mounts, and devices.
	Writable []string `yaml:"writable,omitempty"`
	// Keep lets containers keep stores in the memory of the node, where these outlive them.
	Keep bool `yaml:"keep,omitempty"`
}

type document struct {
	Released List `yaml:"released"`
}

const head = "# The profiles that the OCI hook serves. Written by `mpiimport-plan release` and `mpiimport-plan withdraw`.\n"

// Read returns the list of an installation; nothing is released where there is none. Only root may be able to write it.
func Read(installed string) (List, error) {
	file := prefix.Released(installed)
	if err := profile.OnlyRootWrites(file, installed); errors.Is(err, fs.ErrNotExist) {
		return List{}, nil
	} else if err != nil {
		return nil, err
	}
	content, err := regularfile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read which profiles are released: %w; mend its permissions", err)
	}
	said := document{}
	if err := yamltext.Decode(content, &said, true); err != nil {
		return nil, fmt.Errorf("%s: %w; mend it, or remove it and release the profiles again", file, err)
	}
	if said.Released == nil {
		return List{}, nil
	}
	return said.Released, nil
}

// Write replaces the list of an installation.
func (l List) Write(installed string) error {
	text, err := yaml.Marshal(document{l})
	if err == nil {
		err = publish.File(prefix.Released(installed), append([]byte(head), text...))
	}
	if err != nil {
		return fmt.Errorf("cannot write which profiles are released: %w", err)
	}
	return nil
}

// Names returns an error where one of the profiles that are asked for is not in the list.
func (l List) Names(asked string) error {
	for _, name := range profile.Parts(asked) {
		if _, ok := l[name]; !ok {
			return fmt.Errorf("the profile %.200q is not released for the hook; root can release it with `mpiimport-plan release NAME`", name)
		}
	}
	return nil
}

// Covers returns an error where a profile of the list mounts more than it was released for.
func (l List) Covers(p *profile.Profile) error {
	allowed := []string{}
	for _, name := range profile.Parts(p.Name) {
		allowed = append(allowed, l[name].Writable...)
	}
	for _, source := range Writable(p) {
		if !slices.Contains(allowed, source) {
			return fmt.Errorf("the profile %s lets containers write to %s, for which it is not released; root can release it with `mpiimport-plan release --writable %s`",
				p.Name, source, p.Name)
		}
	}
	return nil
}

// MayCache says whether the containers of a profile may keep stores on the node: each part of its name has to be released for it.
func (l List) MayCache(asked string) bool {
	return !slices.ContainsFunc(profile.Parts(asked), func(name string) bool { return !l[name].Keep })
}

// Writable lists what of the host a profile lets containers write to, as it writes it.
func Writable(p *profile.Profile) []string {
	out := []string{}
	for _, m := range p.Mounts {
		if m.Options == "rw" {
			out = append(out, m.Source)
		}
	}
	for _, d := range p.Devices {
		out = append(out, d.Path)
	}
	return out
}
