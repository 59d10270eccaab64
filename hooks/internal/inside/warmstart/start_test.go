package warmstart

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"app.py", "MPIIMPORT_WARM=1 MPIIMPORT_REPORT=-", false},
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

func TestAFileIsStartedFromByTheKeyOfTheProgram(t *testing.T) {
	for named, want := range map[string]string{
		"MPIIMPORT_WARM=app.img MPIIMPORT_KEEP=session PMI_RANK=0": "/p/bin/mpiimport-warm --door /p/bin/python-mpi --key KEY app.img /app.py a",
		"MPIIMPORT_WARM=/x/app.img PMI_RANK=1":                     "/p/bin/mpiimport-warm --door /p/bin/python-mpi --quiet --key KEY /x/app.img /app.py a",
	} {
		env := append(strings.Fields(named), "PATH=/a")
		key, err := Key("/p", Usual, nil, []string{"/app.py", "a"}, env)
		_, command, failed := Command("/p", Usual, nil, []string{"/app.py", "a"}, env)
		if got := strings.Replace(strings.Join(command, " "), key, "KEY", 1); err != nil || failed != nil || got != want {
			t.Errorf("%s: %s %v %v", named, got, err, failed)
		}
		if !IsForTasks(env) {
			t.Errorf("%s: a task starts otherwise", named)
		}
	}
}

func TestAnImageOfAnUnbufferedProgramIsItsOwn(t *testing.T) {
	env := []string{"MPIIMPORT_WARM=app.img", "PATH=/a", "PMI_RANK=0"}
	plain, err := Key("/p", "python3", nil, []string{"/app.py"}, env)
	key, failed := Key("/p", "python3", []string{"-u"}, []string{"/app.py"}, env)
	if err != nil || failed != nil || key == plain {
		t.Errorf("%s %s %v %v", plain, key, err, failed)
	}
	_, command, err := Command("/p", "python3", []string{"-u"}, []string{"/app.py"}, env)
	want := "/p/bin/mpiimport-warm --door /p/bin/python-mpi --python python3 --option -u --key " + key + " app.img /app.py"
	if got := strings.Join(command, " "); err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
	_, _, err = Command("/p", "python3", []string{"-W", "error"}, []string{"/app.py"}, env)
	if err == nil || !strings.HasSuffix(err.Error(), ": -W error") {
		t.Error(err)
	}
}

func TestNobodyVouchesForAContainerThatMayHaveChanged(t *testing.T) {
	for env, want := range map[string]bool{
		"MPIIMPORT_KEEP=session": true, "MPIIMPORT_SESSION=s": true, "MPIIMPORT_KEEP=auto": false,
		"MPIIMPORT_KEEP=session MPIIMPORT_IMAGE=layers:a": false, "MPIIMPORT_KEEP=session MPIIMPORT_IMAGE=file:1": true,
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
		key, err := Key(installed, python, nil, strings.Fields(script), env)
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
		"image":  key("/p", Usual, app, "PATH=/a:/b", "MPIIMPORT_IMAGE=file:1"),
	} {
		if other == first {
			t.Errorf("another %s has the same key", name)
		}
	}
	inside := key("/p", Usual, app, "MPIIMPORT_IMAGE=layers:a 1 c")
	for container, alike := range map[string]bool{"layers:a 2 c": true, "layers:b 1 c": false, "layers:a 1 d": false} {
		if (key("/p", Usual, app, "MPIIMPORT_IMAGE="+container) == inside) != alike {
			t.Errorf("a container of podman's is taken for another: %s", container)
		}
	}
	for _, unknown := range []string{"PATH=bin:/a", "PATH=/a::/b", "APPTAINER_CONTAINER=/image.sif", "MPIIMPORT_IMAGE=layers:a 1"} {
		if _, err := Key("/p", Usual, nil, []string{app}, []string{unknown}); err == nil {
			t.Errorf("with %s there is a key", unknown)
		}
	}
}
