package warmstart

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/prefix"
)

func TestWhatStartsFromAnImageIfThereIsOne(t *testing.T) {
	for _, c := range []struct {
		words, env string
		want       bool
	}{
		{"app.py a", "MPIIMPORT_WARM=1", true},
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT=force", true},
		{"app.py", "", false},
		{"app.py", "MPIIMPORT_WARM=0", false},
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT=0", false},
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT_DEBUG=1", false},
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT_RECORD=/d", false},
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT_REPORT=-", true},
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT_VERBOSE=1", true},
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT_FILL=1", false},
		{"-m app", "MPIIMPORT_WARM=1", true},
		{"-m app a", "MPIIMPORT_WARM=1", true},
		{"-mapp", "MPIIMPORT_WARM=1", true},
		{"-m", "MPIIMPORT_WARM=1", false},
		{"-m app", "", false},
		{"-c pass", "MPIIMPORT_WARM=1", false},
		{"-", "MPIIMPORT_WARM=1", false},
		{"-d app.py", "MPIIMPORT_WARM=1", false},
		{"", "MPIIMPORT_WARM=1", false},
	} {
		if got := Wanted(strings.Fields(c.words), strings.Fields(c.env)); got != c.want {
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
		rest, env := Options(strings.Fields(words), []string{"MPIIMPORT_WARM=1"})
		got := strings.Join(append(rest, env[1:]...), " ")
		if got != want {
			t.Errorf("%s: %s", words, got)
		}
	}
	if rest, env := Options([]string{"-v", "app.py"}, []string{"MPIIMPORT=0"}); len(rest) != 2 || len(env) != 1 {
		t.Errorf("switched off: %v %v", rest, env)
	}
}

func TestNobodyVouchesForAContainerThatMayHaveChanged(t *testing.T) {
	for env, want := range map[string]bool{
		"MPIIMPORT_KEEP=session": true, "MPIIMPORT_SESSION=s": true, "MPIIMPORT_KEEP=auto": false,
		"MPIIMPORT_KEEP=session _MPIIMPORT_IMAGE=layers:a": false, "MPIIMPORT_KEEP=session _MPIIMPORT_IMAGE=file:1": true,
	} {
		if isVouchedFor(strings.Fields(env)) != want {
			t.Error(env)
		}
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
	for _, c := range []struct{ installed, env, want string }{
		{prefix.InContainer, "", "set MPIIMPORT_KEEP=session where the container is started"},
		{prefix.InContainer, "MPIIMPORT_KEEP=never", "set MPIIMPORT_KEEP=session where the container is started"},
		{prefix.InContainer, "MPIIMPORT_KEEP=session", "name an image file or a sandbox directory"},
		{"/p", "MPIIMPORT_KEEP=session", "start it by --mpiimport"},
	} {
		env := strings.Fields(c.env + " APPTAINER_CONTAINER=/image.sif")
		if _, _, err := Key(c.installed, Usual, nil, []string{app}, env); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v", c.installed, c.env, err)
		}
	}
	for _, unknown := range []string{"PATH=bin:/a", "PATH=/a::/b", "APPTAINER_CONTAINER=/image.sif", "_MPIIMPORT_IMAGE=layers:a 1"} {
		if _, _, err := Key("/p", Usual, nil, []string{app}, []string{unknown}); err == nil {
			t.Errorf("with %s there is a key", unknown)
		}
	}
}
