package profile

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Where the format allows it, ${NAME} and ${NAME:-VALUE} in a value stand for a variable of the caller, and $$ for a $.
// What a variable holds is text: nothing in it is looked at again.

var references = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)
})

// reference is the pattern of a variable in its place; the characters are those that its default may have, beside $$.
func reference(characters string) string {
	return `\$\{[A-Za-z_][A-Za-z0-9_]*(:-(` + characters + `|\$\$)*)?\}`
}

// anyOf is the pattern of one of these characters, a $ as it is written, or a variable.
func anyOf(characters string) string {
	return `(` + characters + `|\$\$|` + reference(characters) + `)`
}

const (
	pathCharacter   = `[^:,"'\\\n$]`
	nameCharacter   = `[^/:,"'\\\n$]`
	textCharacter   = `[^$]`
	optionCharacter = `[^$\n]`
)

// withVariables lets a text refer to variables. It is checked by the pattern written in a file, and by its own when they
// are in their places.
func withVariables(s *shape, written string) *shape {
	s.variables, s.written = true, written
	return s
}

func freeText(description string) *shape {
	return withVariables(&shape{kind: text, description: description, hint: "text"}, `^`+anyOf(textCharacter)+`*$`)
}

func pathWithVariables(description string) *shape {
	return withVariables(absolutePath(description), writtenPath())
}

func writtenPath() string {
	return `^(/` + anyOf(pathCharacter) + `|` + reference(pathCharacter) + `)` + anyOf(pathCharacter) + `*$`
}

// shape is where the format describes v.
func (v Value) shape() *shape {
	s := profileShape
	for _, step := range strings.Split(v.Key, ".") {
		if s.values != nil {
			s = s.values
		} else {
			s = s.find(step)
		}
	}
	if v.listed {
		s = s.values
	}
	return s
}

// unusable is why a value cannot be used for a caller.
type unusable struct {
	unset  string // the variable that is missing, if that is why
	reason string
}

func (u unusable) Error() string { return u.reason }

// lookup returns the value of a variable, and whether it is set.
type lookup func(name string) (string, bool)

// in returns v with the caller's variables in their places. An error is an unusable.
func (v Value) in(caller lookup) (Value, error) {
	node, err := filled(v.node, v.shape(), caller)
	if err == nil && node != v.node {
		v.node, v.Value = node, plain(node)
	}
	return v, err
}

// filled returns node itself where nothing in it changes.
func filled(node *yaml.Node, s *shape, caller lookup) (*yaml.Node, error) {
	made := *node
	if s.variables && strings.Contains(node.Value, "$") {
		value, err := s.fill(node.Value, caller)
		made.Value = value
		return &made, err
	}
	if s.kind != mapping && s.kind != list {
		return node, nil
	}
	changed := false
	made.Content = append([]*yaml.Node{}, node.Content...)
	for i, inner := range node.Content {
		within := s.values
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		} else if len(s.keys) > 0 {
			within = s.find(node.Content[i-1].Value)
		}
		there, err := filled(inner, within, caller)
		if err != nil {
			return nil, err
		}
		made.Content[i] = there
		changed = changed || there != inner
	}
	if !changed {
		return node, nil
	}
	return &made, nil
}

func (s *shape) fill(written string, caller lookup) (string, error) {
	out, rest := strings.Builder{}, 0
	for _, at := range references().FindAllStringSubmatchIndex(written, -1) {
		out.WriteString(written[rest:at[0]])
		rest = at[1]
		if at[2] < 0 {
			out.WriteString("$")
			continue
		}
		name := written[at[2]:at[3]]
		value, isSet := caller(name)
		switch {
		case value == "" && at[4] >= 0:
			value = strings.ReplaceAll(written[at[4]:at[5]], "$$", "$")
		case !isSet:
			return "", unusable{name, fmt.Sprintf("%s is not set; set it, or give it a default there, as in ${%s:-VALUE}", name, name)}
		case s.glob && isGlob(value):
			return "", unusable{"", fmt.Sprintf("%s has one of * ? [ in it, which would be a pattern there; give it another value", name)}
		}
		out.WriteString(value)
	}
	out.WriteString(written[rest:])
	if !utf8.ValidString(out.String()) {
		return "", unusable{"", fmt.Sprintf("it becomes %s, which is not UTF-8, and container runtimes change such bytes; give its variables other values", quoted(out.String()))}
	}
	if s.pattern != "" && !matches(s.pattern, out.String()) {
		return "", unusable{"", fmt.Sprintf("it becomes %s, which is not %s; give its variables other values", quoted(out.String()), s.hint)}
	}
	return out.String(), nil
}
