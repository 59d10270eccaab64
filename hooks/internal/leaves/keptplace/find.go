package keptplace

import (
	"path/filepath"
	"slices"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// Store returns the path that leads to the store of this key, if there is a place that nobody else can have made.
func Store(env []string, key string) (string, bool) {
	owner, ok := Owner()
	if !ok {
		return "", false
	}
	for _, parent := range parents(env) {
		if directory := filepath.Join(parent, Name(owner, env)); IsOwn(directory) {
			return filepath.Join(directory, "programs", key), true
		}
	}
	return "", false
}

func parents(env []string) []string {
	if store, _ := environ.Get(env, ourvars.OptionPrefix+"STORE"); store != "" {
		// What is relative depends on who asks.
		if !filepath.IsAbs(store) {
			return nil
		}
		return []string{store}
	}
	temporary, _ := environ.Get(env, "TMPDIR")
	return slices.DeleteFunc([]string{"/dev/shm", temporary, "/tmp"}, func(parent string) bool { return !filepath.IsAbs(parent) })
}
