package warmstart

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mpiimport.org/hooks/internal/leaves/environ"
)

const head = "import numpy\n"

// keep makes a store with the base of scripts that begin so, and the link that leads to it.
func keep(t *testing.T, place, name, text string) string {
	t.Helper()
	store := t.TempDir()
	link := filepath.Join(place, "programs", name)
	write(t, filepath.Join(store, headFile), text)
	if err := os.Symlink(store, link); err != nil {
		t.Fatal(err)
	}
	return link
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// begin returns the name of the bases of a script.
func begin(t *testing.T, env []string, options []string, words ...string) string {
	t.Helper()
	_, facts, err := Key("/p", "python3", options, words, env)
	if err != nil {
		t.Fatal(err)
	}
	return Begin(facts, words)
}

func TestTheBeginHasAllOfTheKeyButTheProgram(t *testing.T) {
	env, _ := place(t)
	name := begin(t, env, nil, "/a/app.py", "x")
	if name != begin(t, env, nil, "/b/other.py") || len(name) != len("begin-")+64 || !strings.HasPrefix(name, "begin-") {
		t.Error(name)
	}
	if found := begin(t, env, nil, "-m", "app"); found != "" {
		t.Errorf("a module: %q", found)
	}
	for _, other := range []string{
		begin(t, environ.Set(env, "PATH", "/other"), nil, "/a/app.py"),
		begin(t, env, []string{"-u"}, "/a/app.py"),
		begin(t, environ.Set(env, "_MPIIMPORT_IMAGE", "file:1"), nil, "/a/app.py"),
	} {
		if other == name {
			t.Error("what is started otherwise has the same name")
		}
	}
}

func TestAScriptStartsFromTheLongestBaseWithWhichItBegins(t *testing.T) {
	env, place := place(t)
	script := filepath.Join(t.TempDir(), "app.py")
	name := begin(t, env, nil, script)
	keep(t, place, name+".a", head)
	keep(t, place, name+".b", head+"import scipy\n")
	keep(t, place, name+".c", head+"import other\n")
	keep(t, place, name+".d", "")
	keep(t, place, name+".e", head+strings.Repeat("#", longestHead))
	keep(t, place, name+"x.f", head+"import scipy\nprint()")
	keep(t, place, "begin-other.g", head+"import scipy\nprint()")
	if err := os.Symlink("none", filepath.Join(place, "programs", name+".h")); err != nil {
		t.Fatal(err)
	}
	pipe := keep(t, place, name+".i", "")
	if err := os.Remove(filepath.Join(pipe, headFile)); err != nil || syscall.Mkfifo(filepath.Join(pipe, headFile), 0o600) != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		head:                             "a",
		head + "import scipy\n":          "b",
		head + "import scipy\nprint()\n": "b",
		head + "import scip\n":           "a",
		"import nump":                    "",
		"\n" + head:                      "",
		"":                               "",
		head + strings.Repeat("#", 2*longestHead): "a",
	} {
		write(t, script, text)
		if want != "" {
			want = filepath.Join(place, "programs", name+"."+want)
		}
		if found := begunAlike(name, []string{script}, env); found != want {
			t.Errorf("%.40q: %s, not %s", text, found, want)
		}
	}
}

func TestABaseIsTakenOnlyInThePlaceOfAnImageThatIsNotKept(t *testing.T) {
	env, place := place(t)
	script := filepath.Join(t.TempDir(), "app.py")
	write(t, script, head)
	command := func(words ...string) (string, error) {
		_, found, err := Command("/p", Usual, nil, words, env)
		return strings.Join(found, " "), err
	}
	_, facts, err := Key("/p", Usual, nil, []string{script}, env)
	if err != nil {
		t.Fatal(err)
	}
	link := keep(t, place, Begin(facts, []string{script})+".a", head)
	const before = "/p/bin/mpiimport-warm --door /p/bin/python-mpi "
	based := before + "--base --trusted " + link + " " + script + " x"
	if found, err := command(script, "x"); err != nil || found != based {
		t.Error(found, err)
	}
	for _, module := range [][]string{{"-m", script}, {"-m" + script}} {
		if found, err := command(module...); err == nil {
			t.Error(found)
		}
	}
	own := filepath.Join(place, "programs", "warm-"+digest(facts))
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(own, "refused"), "for a reason")
	if found, err := command(script, "x"); err != nil || found != based {
		t.Error(found, err)
	}
	write(t, filepath.Join(own, "image"), "")
	if found, err := command(script, "x"); err != nil || found != before+"--trusted "+own+" "+script+" x" {
		t.Error(found, err)
	}
	write(t, script, "print()\n")
	if err := os.Remove(filepath.Join(own, "image")); err != nil {
		t.Fatal(err)
	}
	if _, err := command(script, "x"); err == nil || err.Error() != "for a reason" {
		t.Error(err)
	}
}
