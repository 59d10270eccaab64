package profile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value is one thing that a profile says, and where it is said. Key is dotted; each entry of a list is a Value
// of its own under the list's key.
type Value struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	File  string `json:"file"`
	Line  int    `json:"line"`

	node   *yaml.Node
	listed bool
}

// PlaceOf returns the file and line that say a key; empty where none does.
func (p *Profile) PlaceOf(key string) string {
	for _, v := range p.Values {
		if v.Key == key {
			return fmt.Sprintf("%s:%d", v.File, v.Line)
		}
	}
	return ""
}

// values lists what is said at node, which has the shape s.
func values(file, place string, node *yaml.Node, s *shape) []Value {
	out := []Value{}
	switch {
	case s.kind == mapping && !s.whole:
		for i := 0; i < len(node.Content); i += 2 {
			name, inner := node.Content[i].Value, s.values
			if len(s.keys) > 0 {
				inner = s.find(name)
			}
			out = append(out, values(file, join(place, name), node.Content[i+1], inner)...)
		}
	case s.kind == list && !s.whole:
		for _, item := range node.Content {
			out = append(out, Value{place, plain(item), file, item.Line, item, true})
		}
	default:
		out = append(out, Value{place, plain(node), file, node.Line, node, false})
	}
	return out
}

// plain is a checked node as JSON has it.
func plain(node *yaml.Node) any {
	var value any
	// The check has passed, so there is nothing that cannot be decoded.
	_ = node.Decode(&value)
	return value
}

// merge returns base with addition on top: lists get longer, and anything else takes the place of what base says.
func merge(base, addition []Value) []Value {
	out := slices.Clone(base)
	for _, v := range addition {
		if v.listed && slices.ContainsFunc(out, v.same) {
			continue
		}
		out = append(slices.DeleteFunc(out, v.replaces), v)
	}
	return out
}

func (v Value) same(other Value) bool {
	return v.Key == other.Key && reflect.DeepEqual(v.Value, other.Value)
}

// replaces says whether v takes the place of old. A variable is set, given a default or removed, not two of these.
func (v Value) replaces(old Value) bool {
	if v.Key == old.Key {
		return !v.listed
	}
	return v.variable() != "" && v.variable() == old.variable() && v.part() == old.part() && v.excludes(old)
}

const (
	environmentPart   = "environment."
	userNamespacePart = "user_namespace."
)

// part is the section of the environment that v belongs to.
func (v Value) part() string {
	if strings.HasPrefix(v.Key, userNamespacePart) {
		return userNamespacePart
	}
	return ""
}

// variable is the name of the variable that v is about, "" when it is about something else.
func (v Value) variable() string {
	change, found := strings.CutPrefix(strings.TrimPrefix(v.Key, userNamespacePart), environmentPart)
	if !found {
		return ""
	}
	if _, name, named := strings.Cut(change, "."); named {
		return name
	}
	name, _ := v.Value.(string)
	return name
}

// way is how v changes its variable: the name of the list or mapping that it stands in.
func (v Value) way() string {
	way, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(v.Key, userNamespacePart), environmentPart), ".")
	return way
}

// excludes says whether two ways to change a variable do not go together. A default may stand behind what is kept.
func (v Value) excludes(other Value) bool {
	ways := []string{v.way(), other.way()}
	if slices.Contains(ways, "default") {
		return !slices.Contains(ways, "keep")
	}
	return slices.Contains(ways, "unset")
}

// inUserNamespace returns what holds there: environment with user_namespace.environment on top.
func inUserNamespace(all []Value) []Value {
	base, addition := []Value{}, []Value{}
	for _, v := range all {
		if name, there := strings.CutPrefix(v.Key, userNamespacePart); there {
			v.Key = name
			addition = append(addition, v)
		} else {
			base = append(base, v)
		}
	}
	return merge(base, addition)
}

// document puts values together again as one mapping.
func document(all []Value) *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, v := range all {
		parent := root
		steps := strings.Split(v.Key, ".")
		for _, step := range steps[:len(steps)-1] {
			parent = child(parent, step, yaml.MappingNode)
		}
		name := steps[len(steps)-1]
		if v.listed {
			items := child(parent, name, yaml.SequenceNode)
			items.Content = append(items.Content, v.node)
		} else {
			parent.Content = append(parent.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, v.node)
		}
	}
	return root
}

// child returns the value of a key, which it makes where there is none.
func child(parent *yaml.Node, name string, kind yaml.Kind) *yaml.Node {
	for i := 0; i < len(parent.Content); i += 2 {
		if parent.Content[i].Value == name {
			return parent.Content[i+1]
		}
	}
	made := &yaml.Node{Kind: kind}
	parent.Content = append(parent.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, made)
	return made
}
