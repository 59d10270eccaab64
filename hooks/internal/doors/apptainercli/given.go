package apptainercli

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

// Words returns all that stands in front of the image.
func (l Line) Words() []string { return l.Args[:l.imageAt] }

// Globals returns the words in front of the subcommand.
func (l Line) Globals() []string { return l.Args[:l.actionAt] }
