package apptainercli

import "slices"

// WithoutFlag returns the command line as the real binary takes it.
func (l Line) WithoutFlag() []string {
	return l.Edit(nil, l.Command())
}

// Edit returns the command line without our flag, with --bind options after the subcommand and another command.
// A bind that is already there is not put in again.
func (l Line) Edit(binds, command []string) []string {
	out := make([]string, 0, len(l.Args)+2*len(binds)+len(command))
	given := l.Args[:len(l.Args)-len(l.Command())]
	for i, word := range given {
		if l.isOurs(i) {
			continue
		}
		out = append(out, word)
		if i == l.actionAt {
			for _, bind := range binds {
				if !l.bound(bind) {
					out = append(out, "--bind", bind)
				}
			}
		}
	}
	return append(out, command...)
}

// Adding returns the line with options right after the subcommand, where those of the caller come later and win.
func (l Line) Adding(options []string) Line {
	if l.Action == "" {
		return l
	}
	out := append([]string{}, l.Args[:l.actionAt+1]...)
	for _, option := range options {
		if !slices.Contains(l.Args[l.actionAt:l.imageAt], option) {
			out = append(out, option)
		}
	}
	return Parse(append(out, l.Args[l.actionAt+1:]...))
}

func (l Line) isOurs(position int) bool {
	for _, p := range l.ours {
		if p == position {
			return true
		}
	}
	return false
}

func (l Line) bound(bind string) bool {
	for i := l.actionAt + 1; i < l.imageAt; i++ {
		if l.Args[i] == bind && l.Args[i-1] == "--bind" {
			return true
		}
	}
	return false
}
