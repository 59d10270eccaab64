package storecache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const enemy = 54322

func TestPlacesOfTheMachine(t *testing.T) {
	for _, path := range []string{"/", "/tmp", "/dev/shm", "/dev/shm/../../tmp/."} {
		if othersMayRename(path) {
			t.Error(path)
		}
	}
	if !othersMayRename("/none/such") {
		t.Error("what is not there could become anybody's")
	}
}

func TestAPlaceCountsOnlyWhereNobodyElseMayRename(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories to others")
	}
	for name, c := range map[string]struct {
		owner, group int
		mode         fs.FileMode
		open         bool
	}{
		"a user's":              {0, 0, 0o755, false},
		"of a private group":    {0, 0, 0o775, false},
		"of a shared group":     {0, 100, 0o775, true},
		"open to all":           {0, 0, 0o777, true},
		"as /tmp is":            {0, 0, 0o777 | fs.ModeSticky, false},
		"the enemy's":           {enemy, enemy, 0o755, true},
		"the enemy's, as /tmp":  {enemy, enemy, 0o777 | fs.ModeSticky, true},
		"a group's, with a bit": {0, 100, 0o775 | fs.ModeSticky, false},
	} {
		parent := filepath.Join(t.TempDir(), "parent")
		inner := filepath.Join(parent, "inner")
		place := filepath.Join(inner, fmt.Sprintf("mpiimport-cache.%d", 0))
		if err := os.MkdirAll(place, 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link")
		for _, err := range []error{os.Chown(parent, c.owner, c.group), os.Chmod(parent, c.mode), os.Symlink(inner, link)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{parent, inner, link} {
			if othersMayRename(path) != c.open {
				t.Error(name, path)
			}
		}
		if IsOwn(place) == c.open {
			t.Error(name, place)
		}
	}
}
