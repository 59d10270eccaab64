package sharedlib

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// numbered are the versions of the C library of which a newer one has all that the older have.
var numbered = regexp.MustCompile(`^GLIBC_[0-9.]+$`)

// Newest returns the newest numbered one of the C library's versions.
func Newest(versions []string) string {
	known := slices.DeleteFunc(slices.Clone(versions), func(version string) bool { return !numbered.MatchString(version) })
	if len(known) == 0 {
		return "none"
	}
	return slices.MaxFunc(known, ByVersion)
}

// WithoutImplied leaves out the versions that a newer one of the C library has anyway.
func WithoutImplied(versions []string) []string {
	latest := Newest(versions)
	return slices.DeleteFunc(slices.Clone(versions), func(version string) bool {
		return numbered.MatchString(version) && version != latest
	})
}

var parts = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// ByVersion compares as people order versions: numbers by their value, and any number behind any word.
func ByVersion(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), func(a, b string) int {
		return slices.CompareFunc(parts.FindAllString(a, -1), parts.FindAllString(b, -1), comparePart)
	})
}

func comparePart(a, b string) int {
	isNumber := func(part string) bool { return part[0] >= '0' && part[0] <= '9' }
	switch {
	case isNumber(a) && isNumber(b):
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	case isNumber(a):
		return 1
	case isNumber(b):
		return -1
	}
	return strings.Compare(a, b)
}
