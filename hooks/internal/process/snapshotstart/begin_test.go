package snapshotstart

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mpiimport.org/hooks/internal/leaves/environ"
)

const head = "import numpy\n"

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
	env := []string{"PATH=/usr/bin:/bin"}
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
	place := t.TempDir()
	script := filepath.Join(place, "app.py")
	paths := []string{filepath.Join(place, "none")}
	add := func(name string) string {
		path := filepath.Join(place, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		return filepath.Join(path, headFile)
	}
	for name, text := range map[string]string{
		"a": head, "b": head + "import scipy\n", "c": head + "import other\n", "d": "", "e": head + strings.Repeat("#", longestHead),
	} {
		write(t, add(name), text)
	}
	if err := syscall.Mkfifo(add("pipe"), 0o600); err != nil {
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
			want = filepath.Join(place, want)
		}
		if found := longestBegin(script, paths); found != want {
			t.Errorf("%.40q: %s, not %s", text, found, want)
		}
	}
}
