package snapshotsending

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	shm     = "/dev/shm"
	machine = "/0123456789abcdef/"
)

// library makes one in which two programs lie. Shells and patterns have meanings for letters of its path.
func library(t *testing.T) string {
	place := filepath.Join(t.TempDir(), "it's [a] $HOME *")
	for key, program := range map[string]string{"program-a": "script /home/me/app.py", "program-b": "module other"} {
		files := map[string]string{"/since": "", "/program": program, machine + "image": key, machine + "image.base": "base", machine + "image.plain": ""}
		for name, text := range files {
			path := filepath.Join(place, key+name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return place
}

func left(t *testing.T, job string) []string {
	found, err := filepath.Glob(shm + "/mpiimport-*.snapshot." + job)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWhatIsSentLiesUnderItsNameUntilItIsRemoved(t *testing.T) {
	job := "sent" + strings.ReplaceAll(time.Now().Format("150405.000000000"), ".", "")
	env := []string{"PATH=/usr/bin:/bin", "SLURM_JOB_ID=" + job}
	sent, err := Send(Commands{"cp {file} {to}", "rm {to}"}, library(t), shm, []string{"srun", "python-mpi", "app.py"}, env)
	if err != nil || sent == nil {
		t.Fatalf("%v %v", sent, err)
	}
	begin, end, _ := strings.Cut(sent.Pattern, "*")
	for name, text := range map[string]string{"program-a-0123456789abcdef-image": "program-a", "program-a-0123456789abcdef-image.base": "base"} {
		if found, err := os.ReadFile(begin + name + end); string(found) != text {
			t.Errorf("%s: %q (%v)", name, found, err)
		}
	}
	if found := left(t, job); len(found) != 2 {
		t.Errorf("what was sent: %q", found)
	}
	if err := sent.Remove(env); err != nil || len(left(t, job)) != 0 {
		t.Errorf("left: %q (%v)", left(t, job), err)
	}
}

func TestNothingIsSentAndWhy(t *testing.T) {
	place, app := library(t), []string{"app.py"}
	copied := Commands{"cp {file} {to}", "rm -f {to}"}
	for name, each := range map[string]struct {
		commands  Commands
		directory string
		line      []string
		why       string
	}{
		"another program":      {copied, shm, []string{"mine.py"}, ""},
		"no memory":            {copied, "/proc", app, "is no memory of this node"},
		"no directory":         {copied, "/none", app, "is no memory of this node"},
		"no command":           {Commands{"none-of-this-name {to}", "rm -f {to}"}, shm, app, "exit status 127"},
		"what it has said":     {Commands{"echo one >&2; echo two >&2; exit 3", "rm -f {to}"}, shm, app, "exit status 3: echo one >&2; echo two >&2; exit 3: two"},
		"a part has come":      {Commands{"echo part > {to}; false", "rm -f {to}"}, shm, app, "exit status 1"},
		"which may stay there": {Commands{"false", "echo busy; exit 4"}, shm, app, "some may be left there"},
	} {
		sent, err := Send(each.commands, place, each.directory, each.line, []string{"PATH=/usr/bin:/bin", "SLURM_JOB_ID=none" + t.Name()})
		if sent != nil || (err == nil) != (each.why == "") || err != nil && !strings.Contains(err.Error(), each.why) {
			t.Errorf("%s: %v, %v", name, sent, err)
		}
		if found := left(t, "none"+t.Name()); len(found) != 0 {
			t.Errorf("%s has left %q", name, found)
		}
	}
}
