package snapshotstart

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
)

func TestWhatDiffersFromTheNearestSnapshotIsNamed(t *testing.T) {
	env, entry := prepared(t, nil, []string{"/a/app.py"}, time.Hour)
	env = environ.Set(env, "PATH", "/usr/bin:/bin")
	if why := WhyNone("/p", "python3", nil, []string{"/a/app.py"}, env); why == "" || strings.Contains(why, "nearest") {
		t.Error("there are no facts: ", why)
	}
	_, facts, err := Key("/p", "python3", nil, []string{"/a/app.py"}, env)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(entry, factsFile), Facts(facts))
	for _, c := range []struct {
		python, change, script, want string
		options                      []string
	}{
		{"python", "", "/a/app.py", `the name of Python "python3", not "python"`, nil},
		{"python3", "", "/a/app.py", `options of Python "", not "-u"`, []string{"-u"}},
		{"python3", "", "/a/other.py", `the program "/a/app.py", not "/a/other.py"`, nil},
		{"python3", "PATH=/bin", "/a/app.py", `PATH ":/usr/bin:/bin", not ":/bin"`, nil},
		{"python3", "_MPIIMPORT_IMAGE=file:1 5ab", "/a/app.py", "another image, or root of the file system, and set of options and binds of the container \"\", not \"5ab\"", nil},
		{"python3", "PATH=/bin", "/a/other.py", `PATH ":/usr/bin:/bin", not ":/bin", and the program "/a/app.py", not`, nil},
	} {
		name, value, _ := strings.Cut(c.change, "=")
		changed := env
		if name != "" {
			changed = environ.Set(env, name, value)
		}
		if why := WhyNone("/p", c.python, c.options, []string{c.script}, changed); !strings.Contains(why, ": the nearest one has "+c.want) {
			t.Errorf("%s: %v", c.want, why)
		}
	}
}

func TestWhyThereIsNoKeyIsSaid(t *testing.T) {
	env, _ := prepared(t, nil, []string{"/a/app.py"}, time.Hour)
	if why := WhyNone("/p", "python3", nil, []string{"/a/app.py"}, environ.Set(env, "PATH", "bin")); !strings.HasPrefix(why, "PATH has an entry") {
		t.Error(why)
	}
}

func TestAPipeIsWaitedForNowhere(t *testing.T) {
	env, entry := prepared(t, nil, []string{"/a/app.py"}, time.Hour)
	if err := syscall.Mkfifo(filepath.Join(entry, factsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if why := WhyNone("/p", "python3", nil, []string{"/a/other.py"}, env); !strings.HasPrefix(why, "none is prepared for this program") {
		t.Error(why)
	}
}
