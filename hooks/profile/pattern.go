package profile

import (
	"regexp"
	"sync"
)

var compiled sync.Map

// matches says whether text matches a pattern of the format. Each is compiled when it is first needed: a start of a
// container needs few of them.
func matches(pattern, text string) bool {
	found, ok := compiled.Load(pattern)
	if !ok {
		found, _ = compiled.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return found.(*regexp.Regexp).MatchString(text)
}
