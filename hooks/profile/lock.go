package profile

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Lock keeps what a profile says of one key from being changed by whatever extends or masks the profile.
type Lock struct {
	Key  string `json:"key"`
	File string `json:"file"` // the profile that locks

	held []Value
}

// newLocks reads the locks among what one file says; merged is that file with all it extends.
func newLocks(said, merged []Value) []Lock {
	var out []Lock
	for _, v := range said {
		if v.Key == "lock" {
			key := v.Value.(string)
			out = append(out, Lock{key, v.File, lockedBy(key, merged)})
		}
	}
	return out
}

// lockedBy returns the values that a lock on key is about.
func lockedBy(key string, all []Value) []Value {
	variable, isVariable := strings.CutPrefix(key, environmentPart+"set.")
	out := []Value{}
	for _, v := range all {
		at := strings.TrimPrefix(v.Key, userNamespacePart)
		if isVariable && v.isAbout(variable) || at == key || strings.HasPrefix(at, key+".") {
			out = append(out, v)
		}
	}
	return out
}

// isAbout says whether v changes the variable called name, in whatever way.
func (v Value) isAbout(name string) bool {
	matches, _ := path.Match(v.variable(), name)
	return matches
}

// obey returns an error where p says something else than one of the locks holds.
func (p *Profile) obey(locks []Lock) error {
	for _, lock := range locks {
		now := lockedBy(lock.Key, p.Values)
		for _, v := range now {
			if !slices.ContainsFunc(lock.held, v.same) {
				return fmt.Errorf("%s:%d: %s changes %s, which %s locks; remove it here, or ask who keeps that file",
					v.File, v.Line, v.Key, lock.Key, lock.File)
			}
		}
		if len(now) != len(lock.held) {
			return fmt.Errorf("%s: %s is not what %s says and locks; extend that profile, or repeat what it says of %s",
				p.Files[len(p.Files)-1], lock.Key, lock.File, lock.Key)
		}
	}
	return nil
}

// LockOn returns the lock that holds key, nil when there is none.
func LockOn(locks []Lock, key string) *Lock {
	for i, lock := range locks {
		if lock.Key == key || strings.HasPrefix(key, lock.Key+".") {
			return &locks[i]
		}
	}
	return nil
}
