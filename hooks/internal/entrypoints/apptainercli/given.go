package apptainercli

import "mpiimport.org/hooks/containerstart"

// Option is one option as it was given: without hyphens; the value of one that takes none is true or false.
type Option struct {
	Name, Value string
}

// Given returns the subcommand's options in their order.
func (l Line) Given() []Option {
	out := []Option{}
	for i := l.actionAt + 1; i < l.imageAt && l.Args[i] != "--"; {
		if l.isOurs(i) {
			i++
			continue
		}
		found := map[string]string{}
		used, _ := actions.read(l.Args[i:], found)
		for name, value := range found {
			out = append(out, Option{name, value})
		}
		i += used
	}
	return out
}

// Words returns the subcommand's options as name=value, those that are given several times in one word.
func (l Line) Words() []string {
	values := map[string][]string{}
	for _, option := range l.Given() {
		values[option.Name] = append(values[option.Name], option.Value)
	}
	return containerstart.Words(values)
}

// Globals returns the words in front of the subcommand.
func (l Line) Globals() []string { return l.Args[:l.actionAt] }
