// Package pythoncli understands CPython's command line far enough to put a start script in front of the program.
package pythoncli

import "strings"

// Line is a command line of python, without the interpreter's own name.
type Line struct {
	Options []string // the interpreter's options
	Target  []string // -m MODULE, -c CODE, - or a script; empty if python would read an interactive session
	Args    []string // what the program gets
	NoSite  bool     // -S is among the options
	// Plain is set where the command must be left as it is: python would not simply run a program
	// (-i, -x, --version), or the options are not understood.
	Plain bool
}

// Parse reads a command line. It follows CPython's own reader: options may be clustered (-um MODULE), -c and -m end
// the options and take the rest of their word or the next word.
func Parse(args []string) Line {
	plain := Line{Plain: true}
	var l Line
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "-":
			l.Target, l.Args = args[i:i+1], args[i+1:]
			return l
		case word == "--":
			if i+1 >= len(args) || args[i+1] == "" || strings.HasPrefix(args[i+1], "-") {
				return plain
			}
			l.Target, l.Args = args[i+1:i+2], args[i+2:]
			return l
		case word == "--check-hash-based-pycs":
			if i+1 >= len(args) {
				return plain
			}
			l.Options = append(l.Options, word, args[i+1])
			i++
		case strings.HasPrefix(word, "--"), word == "":
			return plain
		case strings.HasPrefix(word, "-"):
			end, taken := l.cluster(args[i:])
			if l.Plain {
				return plain
			}
			if end {
				l.Args = args[i+taken:]
				return l
			}
			i += taken - 1
		default:
			l.Target, l.Args = args[i:i+1], args[i+1:]
			return l
		}
	}
	return plain
}

// cluster reads one word of short options. It says whether the options end here and how many words it took.
func (l *Line) cluster(words []string) (bool, int) {
	word := words[0]
	for j := 1; j < len(word); j++ {
		switch letter := word[j]; letter {
		case 'I', 'E', 's', 'P', 'O', 'B', 'b', 'd', 'q', 'u', 'v', 'R':
		case 'S':
			l.NoSite = true
		case 'W', 'X':
			if j+1 < len(word) {
				l.Options = append(l.Options, word)
				return false, 1
			}
			if len(words) < 2 {
				l.Plain = true
				return true, 1
			}
			l.Options = append(l.Options, word, words[1])
			return false, 2
		case 'c', 'm':
			if j > 1 {
				l.Options = append(l.Options, word[:j])
			}
			if j+1 < len(word) {
				l.Target = []string{"-" + string(letter), word[j+1:]}
				return true, 1
			}
			if len(words) < 2 {
				l.Plain = true
				return true, 1
			}
			l.Target = []string{"-" + string(letter), words[1]}
			return true, 2
		default:
			l.Plain = true
			return true, 1
		}
	}
	l.Options = append(l.Options, word)
	return false, 1
}

// Words returns the command line again; script, if any, goes between the options and the target.
func (l Line) Words(script ...string) []string {
	out := append([]string{}, l.Options...)
	out = append(out, script...)
	out = append(out, l.Target...)
	return append(out, l.Args...)
}
