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
