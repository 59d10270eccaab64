package snapshotstart

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/prefix"
)

func TestWhichProgramsMayHaveASnapshot(t *testing.T) {
	for _, c := range []struct {
		words, env string
		want       bool
	}{
		{"app.py a", "", true},
		{"app.py", "MPIIMPORT=force", true},
		{"app.py", "MPIIMPORT_DEBUG=1", false},
		{"app.py", "MPIIMPORT_RECORD=/d", false},
		{"app.py", "MPIIMPORT_REPORT=-", true},
		{"app.py", "MPIIMPORT_VERBOSE=1", true},
		{"app.py", "MPIIMPORT_FILL=1", false},
		{"-m app", "", true},
		{"-m app a", "", true},
		{"-mapp", "", true},
		{"-m", "", false},
		{"-c pass", "", false},
		{"-", "", false},
		{"-d app.py", "", false},
		{"", "", false},
	} {
		if got := isStartedUsually(strings.Fields(c.words), strings.Fields(c.env)); got != c.want {
			t.Errorf("%s with %s: %v", c.words, c.env, got)
		}
	}
}

func TestOptionsThatAStartFromAnImageObeysAreHandedOn(t *testing.T) {
	for words, want := range map[string]string{
		"app.py -v":                    "app.py -v",
		"-v app.py":                    "app.py MPIIMPORT_VERBOSE=1",
		"--report r.json -v -m app -v": "-m app -v MPIIMPORT_REPORT=r.json MPIIMPORT_VERBOSE=1",
		"--report=- app.py":            "app.py MPIIMPORT_REPORT=-",
		"-v -d app.py":                 "-v -d app.py",
		"-v -c pass":                   "-v -c pass",
		"-v":                           "-v",
		"--report":                     "--report",
		"--report --report=x=y -mapp":  "-mapp MPIIMPORT_REPORT=--report=x=y",
	} {
		rest, env := Options(strings.Fields(words), []string{"MPIIMPORT=1"})
		got := strings.Join(append(rest, env[1:]...), " ")
		if got != want {
			t.Errorf("%s: %s", words, got)
		}
	}
	if rest, env := Options([]string{"-v", "app.py"}, []string{"MPIIMPORT=0"}); len(rest) != 2 || len(env) != 1 {
		t.Errorf("switched off: %v %v", rest, env)
	}
}

func TestTheKeyTellsProgramsApart(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	key := func(installed, python, script string, env ...string) string {
		key, _, err := Key(installed, python, nil, strings.Fields(script), env)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	app := filepath.Join(here, "app.py")
	inTree := key("/p", Usual, "-m app.a", "PATH=/a:/b")
	first, module := key("/p", Usual, app, "PATH=/a:/b"), key("/p", Usual, "-m app", "PATH=/a:/b")
	if module != key("/p", Usual, "-mapp a", "PATH=/a:/b") || module == key("/p", Usual, "-m app.a", "PATH=/a:/b") {
		t.Error("a module is not known by its name")
	}
	for _, entry := range []string{"other", "app.py"} {
		directory := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(directory, entry), nil, 0o644), os.Chdir(directory)); err != nil {
			t.Fatal(err)
		}
		if found := key("/p", Usual, "-m app.a", "PATH=/a:/b"); (found == inTree) != (entry == "other") {
			t.Errorf("where there is %s, a module is taken for another", entry)
		}
	}
	if err := os.Chdir(here); err != nil {
		t.Fatal(err)
	}
	for _, alike := range []string{
		key("/p", Usual, "app.py", "PATH=/a:/b", "OTHER=1"),
		key("/p", Usual, "./x/../app.py", "PATH=/a:/b"),
	} {
		if alike != first {
			t.Error("two names of one script have two keys")
		}
	}
	for name, other := range map[string]string{
		"prefix": key("/q", Usual, app, "PATH=/a:/b"),
		"python": key("/p", "python3", app, "PATH=/a:/b"),
		"script": key("/p", Usual, app+"x", "PATH=/a:/b"),
		"kind":   module,
		"PATH":   key("/p", Usual, app, "PATH=/b:/a"),
		"image":  key("/p", Usual, app, "PATH=/a:/b", "_MPIIMPORT_IMAGE=file:1"),
	} {
		if other == first {
			t.Errorf("another %s has the same key", name)
		}
	}
	inside := key("/p", Usual, app, "_MPIIMPORT_IMAGE=layers:a 1 c")
	for container, alike := range map[string]bool{"layers:a 2 c": true, "layers:b 1 c": false, "layers:a 1 d": false} {
		if (key("/p", Usual, app, "_MPIIMPORT_IMAGE="+container) == inside) != alike {
			t.Errorf("a container of podman's is taken for another: %s", container)
		}
	}
	for installed, want := range map[string]string{prefix.InContainer: "name an image file or a sandbox directory", "/p": "start it by --mpiimport"} {
		_, _, err := Key(installed, Usual, nil, []string{app}, []string{"APPTAINER_CONTAINER=/image.sif"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", installed, err)
		}
	}
	for _, unknown := range []string{"PATH=bin:/a", "PATH=/a::/b", "APPTAINER_CONTAINER=/image.sif", "_MPIIMPORT_IMAGE=layers:a 1"} {
		if _, _, err := Key("/p", Usual, nil, []string{app}, []string{unknown}); err == nil {
			t.Errorf("with %s there is a key", unknown)
		}
	}
}
