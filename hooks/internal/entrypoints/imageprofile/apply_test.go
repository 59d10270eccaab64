package imageprofile

import (
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
)

func TestWhatTheCallerSetsWins(t *testing.T) {
	prefix := t.TempDir()
	text := "schema_version: 1\nname: site\ndescription: x\nservice: {readers: 4}\n" +
		"environment: {set: {A: '1', B: '1'}, default: {D: '1', E: '1'}, append: {L: /opt/l}, unset: [C]}\n"
	if err := os.Mkdir(filepath.Join(prefix, "profiles"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(prefix, "profiles", "site.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	applied := func(env ...string) []string {
		out, _, err := Apply(prefix, env)
		if err != nil {
			return []string{err.Error()}
		}
		sort.Strings(out)
		return out
	}
	asked := []string{"MPIIMPORT=1", "MPIIMPORT_PROFILE=site", "B=2", "C=1", "E=2", "L=/l"}
	want := []string{"A=1", "B=2", "D=1", "E=2", "L=/l:/opt/l", "MPIIMPORT=1", "MPIIMPORT_PROFILE=site", "MPIIMPORT_READERS=4", "_MPIIMPORT_APPLIED=site"}
	if got := applied(asked...); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := applied("MPIIMPORT=1", "MPIIMPORT_PROFILE=sit"); !strings.Contains(got[0], "did you mean site?") {
		t.Errorf("an unknown profile: %q", got)
	}
}
