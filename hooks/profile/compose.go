package profile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// names is one name, or a list of them.
type names []string

// UnmarshalYAML takes both.
func (n *names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.SequenceNode {
		return node.Decode((*[]string)(n))
	}
	*n = names{node.Value}
	return nil
}

// Parts are the profiles that are asked for together, as in site,gpu-nvidia.
func Parts(asked string) []string {
	parts := []string{}
	for _, part := range strings.Split(asked, ",") {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// parts returns what the profiles that are asked for say together.
func (s search) parts(asked string) (*Profile, error) {
	wanted := Parts(asked)
	if len(wanted) == 1 {
		return s.load(wanted[0], nil)
	}
	parts, called, described := []*Profile{}, []string{}, []string{}
	for _, name := range wanted {
		part, err := s.load(name, nil)
		if err != nil {
			return nil, err
		}
		parts, called, described = append(parts, part), append(called, part.Name), append(described, part.Description)
	}
	p, err := over(parts, &Profile{})
	if err != nil {
		return nil, err
	}
	p.SchemaVersion, p.Name, p.Description = 1, strings.Join(called, ","), strings.Join(described, " ")
	return p, nil
}

// over returns what the profiles say together, with top on them. It is an error when that changes what one of them locks.
func over(bases []*Profile, top *Profile) (*Profile, error) {
	said, files, err := together(bases, top.Values)
	if err != nil {
		return nil, err
	}
	merged, err := decode(merge(said, top.Values), append(files, top.Files...))
	if err != nil {
		return nil, err
	}
	for _, base := range bases {
		if err := merged.obey(base.Locks); err != nil {
			return nil, err
		}
		merged.Locks = append(merged.Locks, base.Locks...)
	}
	merged.Locks = append(merged.Locks, newLocks(top.Values, merged.Values)...)
	return merged, nil
}

// together returns the values of several profiles, of which each may extend another, and their files. It is an error where
// two differ of which neither extends the other, unless what stands above them decides.
func together(parts []*Profile, above []Value) ([]Value, []string, error) {
	said, files := []Value{}, []string{}
	for _, part := range parts {
		adding := []Value{}
		for _, v := range part.Values {
			isOlder, err := v.beside(said, files, part.Files, above)
			if err != nil {
				return nil, nil, err
			}
			if !isOlder && !v.isOfOneFile() {
				adding = append(adding, v)
			}
		}
		said = merge(said, adding)
		for _, file := range part.Files {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return said, files, nil
}

// beside compares v, which a profile of these own files says, with what others of these files have said. The first result
// is true where one of those extends the file of v and has changed it.
func (v Value) beside(said []Value, files, own []string, above []Value) (bool, error) {
	for _, other := range said {
		isSettled := slices.ContainsFunc(above, func(top Value) bool { return top.collides(v) && top.collides(other) })
		switch {
		case v.isOfOneFile(), !v.collides(other), v.sayTheSame(other), isSettled, slices.Contains(own, other.File):
		case slices.Contains(files, v.File):
			return true, nil
		default:
			return false, fmt.Errorf("%s:%d: %s\n%s:%d: %s\nthese two contradict each other, and neither profile extends the other; leave one out, or write a profile that extends both and says which holds",
				other.File, other.Line, other.written(), v.File, v.Line, v.written())
		}
	}
	return false, nil
}

// isOfOneFile says whether v is about the file that it stands in alone.
func (v Value) isOfOneFile() bool {
	first, _, _ := strings.Cut(v.Key, ".")
	return slices.ContainsFunc(identity, func(k key) bool { return k.name == first })
}

// collides says whether v and other are about the same thing, of which one can hold.
func (v Value) collides(other Value) bool {
	if v.Key == "mounts" && other.Key == "mounts" {
		return v.mount().Target != "" && v.mount().Target == other.mount().Target
	}
	return v.replaces(other) || other.replaces(v)
}

func (v Value) sayTheSame(other Value) bool {
	if v.Key != "mounts" || other.Key != "mounts" {
		return v.same(other)
	}
	one, two := v.mount(), other.mount()
	return one.Source == two.Source && one.Options == two.Options
}

// mount reads an entry of mounts.
func (v Value) mount() Mount {
	var m Mount
	// The check has passed, so there is nothing that cannot be decoded.
	_ = v.node.Decode(&m)
	return m
}

// written is v as a person would write it, in one line.
func (v Value) written() string {
	if v.Key == "mounts" {
		m := v.mount()
		return fmt.Sprintf("mounts: {source: %s, target: %s, options: %s}", m.Source, m.Target, m.Options)
	}
	return fmt.Sprintf("%s: %v", v.Key, v.Value)
}
