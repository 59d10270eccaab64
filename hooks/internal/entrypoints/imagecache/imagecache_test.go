package imagecache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/storecache"
)

func user(t *testing.T) int {
	t.Helper()
	number, ok := storecache.Owner()
	if !ok {
		t.Fatal("this user has no number outside")
	}
	return number
}

func TestEachImageHasAPlaceOfItsOwn(t *testing.T) {
	parent := t.TempDir()
	one, two := in(parent, "one", nil), in(parent, "two", nil)
	if one == "" || one == two || one != in(parent, "one", []string{"MPIIMPORT_SESSION="}) {
		t.Error(one, two)
	}
	images := filepath.Join(parent, fmt.Sprintf("mpiimport-cache.%d", user(t)), "images")
	for _, directory := range []string{images, one, two} {
		if info, err := os.Lstat(directory); err != nil || info.Mode().Perm() != 0o700 || !strings.HasPrefix(directory, images) {
			t.Error(directory, err)
		}
	}
}

func TestWhereOneHasToBeAskedForNoneIsMade(t *testing.T) {
	session := "MPIIMPORT_SESSION=session-" + strings.Repeat("0a", 16)
	for name, c := range map[string]struct {
		env  []string
		name string
	}{
		"a batch job":       {[]string{"SLURM_JOB_ID=7/../8"}, "mpiimport-cache.%d.7____8"},
		"a session":         {[]string{session}, "mpiimport-%d.session-" + strings.Repeat("0a", 16)},
		"that of a job":     {[]string{session + ".12", "PBS_JOBID=12"}, "mpiimport-%d.session-" + strings.Repeat("0a", 16) + ".12"},
		"filled in session": {[]string{session, "MPIIMPORT_FILL=1"}, "mpiimport-%d.session-" + strings.Repeat("0a", 16)},
	} {
		parent := t.TempDir()
		if got := in(parent, "image", c.env); got != "" {
			t.Errorf("%s: %s was made", name, got)
		}
		place := filepath.Join(parent, fmt.Sprintf(c.name, user(t)))
		if err := os.Mkdir(place, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := in(parent, "image", c.env); !strings.HasPrefix(got, place+"/images/") {
			t.Errorf("%s: %q", name, got)
		}
	}
	parent := t.TempDir()
	if got := in(parent, "image", []string{"LSB_JOBID=9", "MPIIMPORT_FILL=1"}); !strings.Contains(got, ".9/images/") {
		t.Errorf("to be filled in a batch job: %q", got)
	}
	for _, name := range []string{"../../etc", "session-1", "/tmp/session-" + strings.Repeat("0a", 16), "session-" + strings.Repeat("0a", 16) + "/.."} {
		if got := in(parent, "image", []string{"MPIIMPORT_SESSION=" + name}); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWhatAnotherHasMadeIsNoPlace(t *testing.T) {
	name := fmt.Sprintf("mpiimport-cache.%d", user(t))
	for problem, make := range map[string]func(place string) error{
		"open to others": func(place string) error { return os.Mkdir(place, 0o755) },
		"a link": func(place string) error {
			return os.Symlink(t.TempDir(), place)
		},
		"a file":         func(place string) error { return os.WriteFile(place, nil, 0o700) },
		"images, a link": func(place string) error { _ = os.Mkdir(place, 0o700); return os.Symlink("/", place+"/images") },
		"another user's": func(place string) error {
			if err := os.Mkdir(place, 0o700); err != nil || os.Geteuid() != 0 {
				return os.Chmod(place, 0o770)
			}
			return os.Chown(place, 1234, 1234)
		},
	} {
		parent := t.TempDir()
		if err := make(filepath.Join(parent, name)); err != nil {
			t.Fatal(err)
		}
		if got := in(parent, "image", nil); got != "" {
			t.Errorf("%s: %s", problem, got)
		}
	}
}
