package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// check walks one value of the file beside the shape it should have and returns the first mistake.
func check(file, place string, node *yaml.Node, s *shape) error {
	fail := func(n *yaml.Node, format string, arguments ...any) error {
		return fmt.Errorf("%s:%d: %s", file, n.Line, fmt.Sprintf(format, arguments...))
	}
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return fail(node, "%s uses a YAML anchor; write the value out, or put it into a profile that this one extends", place)
	}
	if s.several && node.Kind == yaml.SequenceNode {
		one := *s
		one.several = false
		s = &shape{kind: list, values: &one}
		if len(node.Content) == 0 {
			return fail(node, "%s is an empty list; name one, or remove it", place)
		}
	}
	if s.some && (node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode) && len(node.Content) == 0 {
		return fail(node, "%s lists nothing, so nothing could ever fit it; write what has to fit, or remove it (a profile for all is default.yaml)", place)
	}
	switch s.kind {
	case mapping:
		if node.Kind != yaml.MappingNode {
			return fail(node, "%s must be a mapping, not %s; write KEY: VALUE lines below it", place, describe(node))
		}
		return checkMapping(file, place, node, s)
	case list:
		if node.Kind != yaml.SequenceNode {
			return fail(node, "%s must be a list, not %s; begin each entry with a hyphen", place, describe(node))
		}
		for i, item := range node.Content {
			if err := check(file, fmt.Sprintf("%s[%d]", place, i), item, s.values); err != nil {
				return err
			}
		}
		return nil
	}
	if strings.Contains(node.Value, "\x00") {
		return fail(node, "%s has the character NUL, which no path and no variable can hold; remove it", place)
	}
	want := map[kind]string{text: "!!str", number: "!!int", truth: "!!bool"}[s.kind]
	if node.Kind != yaml.ScalarNode || node.ShortTag() != want || looksTyped(node, s.kind) {
		return fail(node, "%s must be %s, not %s%s", place, inWords(s.kind), describe(node), remedy(node, s.kind))
	}
	if s.kind == number {
		value, err := strconv.Atoi(node.Value)
		if err != nil || strconv.Itoa(value) != node.Value {
			return fail(node, "%s is %s; write a plain decimal number", place, node.Value)
		}
		if s.only != 0 && value != s.only {
			return fail(node, "%s is %d, but this mpiimport reads only %d; install a newer mpiimport or convert the profile", place, value, s.only)
		}
		if value < s.minimum {
			return fail(node, "%s is %d; it must be at least %d", place, value, s.minimum)
		}
	}
	if len(s.oneOf) > 0 && !slices.Contains(s.oneOf, node.Value) {
		return fail(node, "%s is %q; write one of %s%s", place, node.Value, strings.Join(s.oneOf, ", "), didYouMean(node.Value, s.oneOf))
	}
	pattern, hint := s.pattern, s.hint
	if s.variables {
		pattern, hint = s.written, s.hint+", in which ${NAME} and ${NAME:-VALUE} stand for variables and $$ for a $"
	}
	if pattern != "" && !matches(pattern, node.Value) {
		return fail(node, "%s is %q; write %s", place, node.Value, hint)
	}
	return nil
}

func checkMapping(file, place string, node *yaml.Node, s *shape) error {
	known := []string{}
	for _, k := range s.keys {
		known = append(known, k.name)
	}
	seen := map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		k, value := node.Content[i], node.Content[i+1]
		where := fmt.Sprintf("%s:%d", file, k.Line)
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" || looksTyped(k, text) {
			return fmt.Errorf("%s: %s has a key that is no plain word; put it in quotes or remove it", where, place)
		}
		if first, double := seen[k.Value]; double {
			return fmt.Errorf("%s: %s has the key %q twice (first in line %d); remove one", where, place, k.Value, first)
		}
		seen[k.Value] = k.Line
		inner := s.values
		if len(s.keys) > 0 {
			inner = s.find(k.Value)
			if inner == nil {
				return fmt.Errorf("%s: %s has no key %q%s (the keys are %s)",
					where, place, k.Value, didYouMean(k.Value, known), strings.Join(known, ", "))
			}
		} else if !matches(s.names, k.Value) {
			return fmt.Errorf("%s: %s: %q cannot be the name of a variable; use letters, digits and _", where, place, k.Value)
		} else if matches(s.reserved, k.Value) {
			return fmt.Errorf("%s: %s: %s is set by the container runtime or by mpiimport itself; remove it (options of mpiimport go into the section service)", where, place, k.Value)
		}
		if err := check(file, join(place, k.Value), value, inner); err != nil {
			return err
		}
	}
	for _, k := range s.keys {
		if _, there := seen[k.name]; k.required && !there {
			return fmt.Errorf("%s:%d: %s lacks the key %q; add it (%s)", file, node.Line, place, k.name, k.shape.description)
		}
	}
	return nil
}

func (s *shape) find(name string) *shape {
	for _, k := range s.keys {
		if k.name == name {
			return k.shape
		}
	}
	return nil
}

func join(place, name string) string {
	if place == topLevel {
		return name
	}
	return place + "." + name
}

// typedElsewhere are plain words that older readers of YAML (PyYAML among them) take for a truth value, for a number of
// minutes or seconds, for a time, or for the key of a default.
const typedElsewhere = `^((?i:yes|no|on|off)|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?|=)$`

// looksTyped finds such words where a text is meant, so that all readers understand a profile alike.
func looksTyped(node *yaml.Node, k kind) bool {
	return k == text && node.Style == 0 && matches(typedElsewhere, node.Value)
}

func remedy(node *yaml.Node, k kind) string {
	switch {
	case node.Kind != yaml.ScalarNode:
		return "; write one value"
	case k == text && node.Value != "":
		return fmt.Sprintf("; write '%s', in quotes", node.Value)
	case k == text:
		return "; write a value, or '' for none"
	}
	return "; write " + inWords(k) + " without quotes"
}

func inWords(k kind) string {
	return map[kind]string{text: "a string", number: "a whole number", truth: "true or false"}[k]
}

func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch node.ShortTag() {
	case "!!null":
		return "empty"
	case "!!str":
		return "the word " + quoted(node.Value)
	}
	return node.Value
}

// quoted is a text as messages show it: in one line, and no more of it than tells which it is.
func quoted(text string) string {
	const most = 60
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%s (%d characters)", strconv.Quote(text[:most]+"..."), len(text))
}
