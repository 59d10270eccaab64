package profile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatKeepsLaunchesFromProfilesIsSaid(t *testing.T) {
	own := uint32(os.Geteuid())
	for name, c := range map[string]struct {
		directory, file fs.FileMode
		isSite          bool
		root            uint32
		said            []string
	}{
		"sound":              {0o755, 0o644, true, own, nil},
		"own, private":       {0o700, 0o600, false, own, nil},
		"site, private":      {0o700, 0o644, true, own, []string{"mode 0700: other users cannot read it"}},
		"site, not searched": {0o744, 0o644, true, own, []string{"mode 0744: other users"}},
		"site, for all":      {0o777, 0o644, true, own, []string{"mode 0777: others can write to it, so a hook"}},
		"own, for all":       {0o777, 0o644, false, own, []string{"mode 0777: others can write to it, and change"}},
		"site, file private": {0o755, 0o600, true, own, []string{"site.yaml has mode 0600: other users cannot read it"}},
		"site, file for all": {0o755, 0o666, true, own, []string{"site.yaml has mode 0666: others can write to it"}},
		"own, for a group":   {0o775, 0o664, false, own, nil},
		"site, for a group":  {0o775, 0o644, true, own, []string{"mode 0775: others can write to it, so a hook"}},
		"own, file for all":  {0o755, 0o666, false, own, []string{"site.yaml has mode 0666: others can write to it"}},
	} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "profiles.d")
			if err := os.Mkdir(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(directory, "site.yaml")
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, c.file); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(directory, c.directory); err != nil {
				t.Fatal(err)
			}
			said := misplaced(directory, c.isSite, c.root)
			if len(said) != len(c.said) {
				t.Fatalf("said %q", said)
			}
			for i := range said {
				if !strings.Contains(said[i], c.said[i]) || !strings.Contains(said[i], "; chmod ") {
					t.Errorf("said %q, not %q", said[i], c.said[i])
				}
			}
		})
	}
	above := t.TempDir()
	if err := os.Chmod(above, 0o700); err != nil {
		t.Fatal(err)
	}
	if said := misplaced(filepath.Join(above, "profiles.d"), true, own); len(said) != 1 || !strings.Contains(said[0], above) {
		t.Errorf("of a directory that other users cannot come to: %q", said)
	}
	if said := misplaced(filepath.Join(t.TempDir(), "absent", "profiles.d"), true, own); len(said) != 0 {
		t.Errorf("of a directory that is not there: %q", said)
	}
}
