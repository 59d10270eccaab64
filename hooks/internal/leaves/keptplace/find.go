package keptplace

import (
	"path/filepath"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// InContainer is the place that a container of podman's or docker's sees.
const InContainer = "/.mpiimport-kept"

// Store returns the path that leads to the store of this key, if there is a place that nobody else can have made, or put there.
func Store(env []string, key string) (string, bool) {
	owner, ok := Owner()
	if !ok {
		return "", false
	}
	for _, directory := range candidates(owner, env) {
		if IsOwn(directory) {
			return filepath.Join(directory, "programs", key), true
		}
	}
	return "", false
}

// Filling returns the file that is locked while a store is filled to which this path leads.
func Filling(store string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(store)), "filling", filepath.Base(store))
}

// candidates lists where the place may be. A container of podman's or docker's sees one.
func candidates(owner int, env []string) []string {
	if image, _ := environ.Get(env, ourvars.Image); strings.HasPrefix(image, ourvars.Layers) {
		return []string{InContainer}
	}
	found := []string{}
	for _, parent := range parents(env) {
		found = append(found, filepath.Join(parent, Name(owner, env)))
	}
	return found
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
