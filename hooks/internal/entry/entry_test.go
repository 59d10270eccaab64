package entry

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
)

func start(command string, env ...string) (string, []string) {
	got, out := Start(strings.Fields(command), Process{Prefix: "/opt/mpiimport", Pid: 42, Env: env})
	return strings.Join(got, " "), out
}

func TestHowCommandsStart(t *testing.T) {
	const early = "-S /opt/mpiimport/lib/mpiimport/start.py "
	for name, c := range map[string]struct {
		command string
		env     []string
		want    string
		wantEnv []string
	}{
		"switched off": {"python app.py", []string{"MPIIMPORT=0", "PMI_RANK=0"}, "python app.py", []string{"MPIIMPORT=0", "PMI_RANK=0"}},
		"not asked":    {"python app.py", []string{"PMI_RANK=0"}, "python app.py", []string{"PMI_RANK=0"}},
		"a rank's python": {"python -u app.py a", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python -u " + early + "app.py a",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_PID=42", "MPIIMPORT_START=early"}},
		"by its path": {"/usr/bin/python3.11 -m mod", []string{"MPIIMPORT=force", "OMPI_COMM_WORLD_RANK=1"}, "/usr/bin/python3.11 " + early + "-m mod",
			[]string{"MPIIMPORT=force", "OMPI_COMM_WORLD_RANK=1", "MPIIMPORT_PID=42", "MPIIMPORT_START=early"}},
		"without site": {"python3 -S app.py", []string{"MPIIMPORT=1", "PALS_RANKID=0"}, "python3 -S " + early + "app.py",
			[]string{"MPIIMPORT=1", "PALS_RANKID=0", "MPIIMPORT_PID=42", "MPIIMPORT_START=early-nosite"}},
		"python -i": {"python -i app.py", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python -i app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_PID=42", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door"}},
		"PYTHONINSPECT": {"python app.py", []string{"MPIIMPORT=1", "PMI_RANK=0", "PYTHONINSPECT=1"}, "python app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "PYTHONINSPECT=1", "MPIIMPORT_PID=42", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door"}},
		"another program": {"bash -c x", []string{"MPIIMPORT=1", "PMIX_RANK=0", "PYTHONPATH=/u"}, "bash -c x",
			[]string{"MPIIMPORT=1", "PMIX_RANK=0", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door:/u", "MPIIMPORT_PID=42"}},
		"another python": {"python3.11-config x", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python3.11-config x",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_PID=42", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door"}},
		"no rank, an outer entry's leftovers": {"mpirun -n 4 python app.py", []string{"MPIIMPORT=1", "MPIIMPORT_PID=7", "MPIIMPORT_START=early"}, "mpirun -n 4 python app.py",
			[]string{"MPIIMPORT=1", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door"}},
		"twice": {"sh x", []string{"MPIIMPORT=1", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door:/u"}, "sh x", []string{"MPIIMPORT=1", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door:/u"}},
		"removed variables": {"sh x", []string{"MPIIMPORT=1", "A=", "B=1", "MPIIMPORT_UNSET=A:C"}, "sh x",
			[]string{"MPIIMPORT=1", "B=1", "PYTHONPATH=/opt/mpiimport/lib/mpiimport/door"}},
	} {
		got, env := start(c.command, c.env...)
		if got != c.want || !reflect.DeepEqual(env, c.wantEnv) {
			t.Errorf("%s:\n got %q %q\nwant %q %q", name, got, env, c.want, c.wantEnv)
		}
	}
}

func TestAnImagesOwnProfileIsAppliedOnce(t *testing.T) {
	prefix := t.TempDir()
	text := "schema_version: 1\nname: site\ndescription: x\nservice: {readers: 4}\n" +
		"environment: {set: {A: '1', B: '1'}, append: {L: /opt/l}, unset: [C]}\n"
	if err := os.Mkdir(filepath.Join(prefix, "profiles"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(prefix, "profiles", "site.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	profiled := func(env ...string) []string {
		out, err := Profiled(Process{Prefix: prefix, Env: env})
		if err != nil {
			return []string{err.Error()}
		}
		sort.Strings(out)
		return out
	}
	asked := []string{"MPIIMPORT=1", "MPIIMPORT_PROFILE=site", "B=2", "C=1", "L=/l"}
	want := []string{"A=1", "B=2", "L=/l:/opt/l", "MPIIMPORT=1", "MPIIMPORT_APPLIED=site", "MPIIMPORT_PROFILE=site", "MPIIMPORT_READERS=4"}
	once := profiled(asked...)
	if !reflect.DeepEqual(once, want) {
		t.Errorf("got  %q\nwant %q", once, want)
	}
	for _, env := range [][]string{once, {"MPIIMPORT=0", "MPIIMPORT_PROFILE=none"}, {"MPIIMPORT_PROFILE=none"}, {"MPIIMPORT=1"}} {
		if got := profiled(env...); !reflect.DeepEqual(got, env) {
			t.Errorf("%q became %q", env, got)
		}
	}
	if got := profiled("MPIIMPORT=1", "MPIIMPORT_PROFILE=sit"); !strings.Contains(got[0], "did you mean site?") {
		t.Errorf("an unknown profile: %q", got)
	}
}

func TestCommandsThatCannotStartFailAsInAShell(t *testing.T) {
	directory := t.TempDir()
	for name, mode := range map[string]os.FileMode{"good": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/nowhere:" + directory}
	for command, want := range map[string]int{
		"good": 0, "text": 126, "none": 127, "": 127,
		directory + "/good": 0, directory + "/text": 126, directory + "/none": 127, directory: 126,
	} {
		_, err := Lookup(command, env)
		var refused NotStarted
		errors.As(err, &refused)
		if refused.Status != want {
			t.Errorf("%q: %v (%d), want %d", command, err, refused.Status, want)
		}
	}
}
