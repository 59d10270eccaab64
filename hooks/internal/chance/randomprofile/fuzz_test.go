package randomprofile

import (
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/chance/fuzzing"
)

// A profile is read, or refused by one line that says where and what to do.
func FuzzProfiles(f *testing.F) {
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		text := Text(chance)
		p, err := Parse(t, text)
		said := map[string]any{"text": text}
		if err != nil {
			message := err.Error()
			if !strings.HasPrefix(message, Name+".yaml:") || !strings.ContainsAny(message, ";(") || strings.ContainsAny(message, "\n\x00\x1b") || len(message) > 1000 {
				t.Fatalf("%q\n%s", message, text)
			}
			said["refused"] = message
		} else {
			said["values"] = p.Values
		}
		fuzzing.HandOver(t, "profiles", said)
		return err == nil
	})
}
