// Package environ reads and edits an environment that is held as a list of NAME=VALUE.
package environ

import (
	"slices"
	"strings"
)

// Get returns the value of name, and whether it is set.
func Get(env []string, name string) (string, bool) {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// Set returns a copy of env in which name has this value, in its old place if it had one.
func Set(env []string, name, value string) []string {
	out := make([]string, 0, len(env)+1)
	done := false
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			out = append(out, entry)
			continue
		}
		if !done {
			out = append(out, name+"="+value)
			done = true
		}
	}
	if !done {
		out = append(out, name+"="+value)
	}
	return out
}

// Unset returns a copy of env without name.
func Unset(env []string, name string) []string {
	out := make([]string, 0, len(env))
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			out = append(out, entry)
		}
	}
	return out
}

// PrependPath returns a copy of env in which directory comes first in the colon list name, once.
func PrependPath(env []string, name, directory string) []string {
	old, _ := Get(env, name)
	if old == "" {
		return Set(env, name, directory)
	}
	if old == directory || strings.HasPrefix(old, directory+":") {
		return env
	}
	return Set(env, name, directory+":"+old)
}

// DropPath returns a copy of env without directory in the colon list name.
func DropPath(env []string, name, directory string) []string {
	old, ok := Get(env, name)
	if !ok {
		return env
	}
	elements := slices.DeleteFunc(strings.Split(old, ":"), func(element string) bool { return element == directory })
	if len(elements) == 0 {
		return Unset(env, name)
	}
	return Set(env, name, strings.Join(elements, ":"))
}

// Editor makes many changes to one environment: each takes the same time, however large the environment is.
type Editor struct {
	entries []string         // empty where an entry was removed
	at      map[string][]int // the places of a name
}

// Edit begins with the entries of env, which stays as it is.
func Edit(env []string) *Editor {
	e := &Editor{at: make(map[string][]int, len(env))}
	for _, entry := range env {
		e.add(entry)
	}
	return e
}

func (e *Editor) add(entry string) {
	if name, _, ok := strings.Cut(entry, "="); ok {
		e.at[name] = append(e.at[name], len(e.entries))
	}
	e.entries = append(e.entries, entry)
}

// Get returns the value of name, and whether it is set.
func (e *Editor) Get(name string) (string, bool) {
	places := e.at[name]
	if len(places) == 0 {
		return "", false
	}
	return strings.CutPrefix(e.entries[places[0]], name+"=")
}

// Set gives name this value, in its old place if it had one.
func (e *Editor) Set(name, value string) {
	places := e.at[name]
	if len(places) == 0 {
		e.add(name + "=" + value)
		return
	}
	e.entries[places[0]] = name + "=" + value
	for _, place := range places[1:] {
		e.entries[place] = ""
	}
	e.at[name] = places[:1]
}

// Unset removes name.
func (e *Editor) Unset(name string) {
	for _, place := range e.at[name] {
		e.entries[place] = ""
	}
	delete(e.at, name)
}

// Environment returns the entries as they are now.
func (e *Editor) Environment() []string {
	return slices.DeleteFunc(slices.Clone(e.entries), func(entry string) bool { return entry == "" })
}
