package warmstart

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/keptplace"
)

// place returns an environment with a place for stores, and that place.
func place(t *testing.T) ([]string, string) {
	t.Helper()
	directory := t.TempDir()
	env := []string{"PATH=/usr/bin:/bin", "MPIIMPORT_WARM=1", "MPIIMPORT_KEEP=session", "MPIIMPORT_STORE=" + directory}
	found := filepath.Join(directory, keptplace.Name(os.Geteuid(), env))
	for _, kind := range []string{"programs", "filling"} {
		if err := os.MkdirAll(filepath.Join(found, kind), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return env, found
}

// look looks for the image of a program.
func look(t *testing.T, env []string, python string, options []string, script string) (string, error) {
	t.Helper()
	key, facts, err := Key("/p", python, options, []string{script}, env)
	if err != nil {
		t.Fatal(err)
	}
	return kept(key, facts, env)
}

func TestWhatDiffersFromTheNearestImageIsNamed(t *testing.T) {
	env, place := place(t)
	_, err := look(t, env, "python3", nil, "/a/app.py")
	if err == nil || strings.Contains(err.Error(), "nearest") {
		t.Error(err)
	}
	key, facts, err := Key("/p", "python3", nil, []string{"/a/app.py"}, env)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(place, "programs", key)
	for name, text := range map[string]string{"image": "", factsFile: Facts(facts)} {
		if err := errors.Join(os.MkdirAll(store, 0o700), os.WriteFile(filepath.Join(store, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := look(t, env, "python3", nil, "/a/app.py"); err != nil || found != store {
		t.Error(found, err)
	}
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
		_, err := look(t, changed, c.python, c.options, c.script)
		if err == nil || !strings.Contains(err.Error(), ": the nearest one has "+c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

func TestWhatIsToComeIsNoNews(t *testing.T) {
	env, place := place(t)
	auto := environ.Set(env, "MPIIMPORT_KEEP", "auto")
	key, _, err := Key("/p", "python3", nil, []string{"/a/app.py"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := look(t, auto, "python3", nil, "/a/app.py"); !errors.Is(err, ErrNoneYet) {
		t.Error("nobody has begun: ", err)
	}
	file, err := os.Create(filepath.Join(place, "filling", key))
	if err != nil || syscall.Flock(int(file.Fd()), syscall.LOCK_EX) != nil {
		t.Fatal(err)
	}
	if _, err := look(t, auto, "python3", nil, "/a/app.py"); !errors.Is(err, ErrNoneYet) {
		t.Error("somebody makes it: ", err)
	}
	if _, err := look(t, env, "python3", nil, "/a/app.py"); !errors.Is(err, errMaking) {
		t.Error("somebody makes it: ", err)
	}
	file.Close()
	for _, each := range [][]string{auto, env} {
		if _, err := look(t, each, "python3", nil, "/a/app.py"); err == nil || !strings.HasPrefix(err.Error(), "none is kept for this program") {
			t.Error("nobody makes it any more: ", err)
		}
	}
}

func TestAPipeIsWaitedForNowhere(t *testing.T) {
	env, place := place(t)
	key, _, err := Key("/p", "python3", nil, []string{"/a/app.py"}, env)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(place, "programs", "warm-other")
	if err := errors.Join(os.MkdirAll(store, 0o700), os.WriteFile(filepath.Join(store, "image"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, pipe := range []string{filepath.Join(store, factsFile), filepath.Join(place, "filling", key)} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := look(t, env, "python3", nil, "/a/app.py"); err == nil || !strings.HasPrefix(err.Error(), "none is kept for this program") {
		t.Error(err)
	}
}
