// Package apptainercli understands the command lines of singularity and apptainer far enough to find the image.
package apptainercli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/leaves/environ"
)

// flag is the option that asks for acceleration, as it is typed.
const flag = "--" + containerstart.Flag

// Line is a command line, without the program's name, and what was found in it. Positions index Args; the
// zero position stands for "not there" for everything that follows the subcommand.
type Line struct {
	Args     []string
	Action   string // one of containerstart.Actions, or another subcommand
	actionAt int    // of its last word
	imageAt  int
	ours     []int  // positions of our flag
	Asked    bool   // our flag is there
	Value    string // its value
	Doubt    string // why the line is not fully understood; empty if it is
	options  map[string]string
	globals  map[string]string // options in front of the subcommand
}

// Parse reads a command line. It never fails: what it does not understand it leaves alone and says so in Doubt.
func Parse(args []string) Line {
	l := Line{Args: args, options: map[string]string{}, globals: map[string]string{}}
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		if args[i] == "-" || args[i] == "--" {
			return l
		}
		used, doubt := globals.read(args[i:], l.globals)
		l.note(doubt)
		i += used
	}
	if i >= len(args) {
		return l
	}
	l.Action, l.actionAt = args[i], i
	if l.Action == "instance" && i+1 < len(args) {
		l.Action, l.actionAt = l.Action+" "+args[i+1], i+1
	}
	if slices.Contains(containerstart.Actions, l.Action) {
		l.readOptions(l.actionAt + 1)
	}
	return l
}

func (l *Line) readOptions(i int) {
	for i < len(l.Args) {
		word := l.Args[i]
		switch {
		case word == flag || strings.HasPrefix(word, flag+"="):
			_, l.Value, _ = strings.Cut(word, "=")
			l.Asked = true
			l.ours = append(l.ours, i)
			i++
		case word == "--":
			l.image(i + 1)
			return
		case word == "-" || !strings.HasPrefix(word, "-"):
			l.image(i)
			return
		default:
			used, doubt := actions.read(l.Args[i:], l.options)
			if doubt != "" {
				l.note(doubt)
				// The next word may be this option's value or the image; look for the flag behind it, too.
				if i+1 < len(l.Args) && !strings.HasPrefix(l.Args[i+1], "-") {
					used = 2
				}
			}
			i += used
		}
	}
}

func (l *Line) image(i int) {
	if i < len(l.Args) {
		l.imageAt = i
	}
}

func (l *Line) note(doubt string) {
	if l.Doubt == "" {
		l.Doubt = doubt
	}
}

// read takes one option and its value off the front of words, as pflag does. It returns how many words that
// were, and a doubt if the option is not known.
func (t optionTable) read(words []string, found map[string]string) (int, string) {
	word := words[0]
	if name, long := strings.CutPrefix(word, "--"); long {
		name, value, attached := strings.Cut(name, "=")
		takes, known := t.value[name]
		switch {
		case attached:
			found[name] = value
			return 1, ""
		case !known:
			return 1, fmt.Sprintf("the option %s is not known here", word)
		case !takes:
			found[name] = "true"
			return 1, ""
		case len(words) < 2:
			return 1, fmt.Sprintf("the option %s has no value", word)
		}
		found[name] = words[1]
		return 2, ""
	}
	for cluster := word[1:]; cluster != ""; cluster = cluster[1:] {
		name, known := t.letters[cluster[0]]
		rest := cluster[1:]
		switch {
		case !known:
			return 1, fmt.Sprintf("the option -%c in %s is not known here", cluster[0], word)
		case strings.HasPrefix(rest, "="):
			found[name] = rest[1:]
			return 1, ""
		case !t.value[name]:
			found[name] = "true"
		case rest != "":
			found[name] = rest
			return 1, ""
		case len(words) < 2:
			return 1, fmt.Sprintf("the option %s has no value", word)
		default:
			found[name] = words[1]
			return 2, ""
		}
	}
	return 1, ""
}

// Image returns the image, or "" when there is none.
func (l Line) Image() string {
	if l.imageAt == 0 {
		return ""
	}
	return l.Args[l.imageAt]
}

// Command returns what follows the image, and the name where an instance is started.
func (l Line) Command() []string {
	if l.imageAt == 0 || l.commandAt() > len(l.Args) {
		return nil
	}
	return l.Args[l.commandAt():]
}

func (l Line) commandAt() int { return l.imageAt + containerstart.CommandAt(l.Action) }

// Options returns the options that are set, by the command line or by the variables that matter here.
func (l Line) Options(env []string) map[string]string {
	out := maps.Clone(l.options)
	for option, names := range variables {
		if _, ok := out[option]; ok {
			continue
		}
		if value, ok := lookup(env, names); ok {
			out[option] = value
		}
	}
	return out
}

// Config returns the configuration file that is given to the runtime, "" where none is.
func (l Line) Config(env []string) string {
	if file, given := l.globals["config"]; given {
		return file
	}
	file, _ := lookup(env, []string{"CONFIG_FILE"})
	return file
}

// IsVerbose says whether the runtime is to say more than usually.
func (l Line) IsVerbose() bool {
	return l.globals["verbose"] == "true" || l.globals["debug"] == "true"
}

func lookup(env, names []string) (string, bool) {
	for _, name := range names {
		for _, prefix := range []string{"APPTAINER_", "SINGULARITY_"} {
			if value, _ := environ.Get(env, prefix+name); value != "" {
				return value, true
			}
		}
	}
	return "", false
}

func words(text string) []string { return strings.Fields(text) }

func values(with, without []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range with {
		out[name] = true
	}
	for _, name := range without {
		out[name] = false
	}
	return out
}
