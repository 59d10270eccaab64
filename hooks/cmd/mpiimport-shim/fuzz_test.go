package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/internal/entrypoints/runtimes"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/launch"
)

// recorder is the name under which this test's program is a runtime that writes down what it got, byte by byte.
const recorder = "apptainer"

func recordCall(program string) error {
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(program), name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writtenDown returns what the runtime got, and forgets it.
func writtenDown(t *testing.T, s site, name string) []string {
	t.Helper()
	file := filepath.Join(s.real, name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the runtime was not started: %v", err)
	}
	must(t, os.Remove(file))
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// randomRecord makes the text of a launch.yaml: a sound one, one that is damaged, or anything.
func randomRecord(chance *fuzzing.Chance, runtime string) string {
	values := []string{"true", "no", "yes", "''", "apptainer", "singularityce", "~", "1", "[]", "{}", "&a x", "*a", "!!binary x", "{a: b}", "0x1", ".inf", "!x y", chance.Text(6)}
	text := strings.Builder{}
	text.WriteString(fuzzing.One(chance, "", "# a comment\n", "---\n", "version: 2\n", "%YAML 1.1\n---\n", "\xef\xbb\xbf", "<<: {a: b}\n"))
	text.WriteString(fuzzing.One(chance, "runtimes:\n", "runtimes:\n", "runtimes: ", "runtime:\n", "RUNTIMES:\n", "? runtimes\n:\n"))
	for range chance.Below(6) {
		text.WriteString("  " + fuzzing.One(chance, runtime, runtime, "/other", "[]", "? x", "*a", "''", "<<", "5") + ": {")
		for range chance.Below(6) {
			text.WriteString(fuzzing.One(chance, "flavour", "setuid", "no_binds", "no_new_places", "own_dev", "newer", "flavour", "<<") + ": " + fuzzing.One(chance, values...) + ", ")
		}
		text.WriteString("}\n")
	}
	out := []byte(text.String())
	for chance.In(2) && len(out) > 0 {
		at := chance.Below(len(out))
		switch chance.Below(3) {
		case 0:
			out = slices.Insert(out, at, []byte(chance.Text(5))...)
		case 1:
			out = slices.Delete(out, at, min(len(out), at+1+chance.Below(4)))
		default:
			out[at] = byte(chance.Below(256))
		}
	}
	switch chance.Below(12) {
	case 10:
		return strings.Repeat(fuzzing.One(chance, "[", "{a: ", "- ", "&a [*a, "), 1+chance.Below(20000))
	case 11:
		return chance.Text(60)
	}
	return string(out)
}

// Whatever launch.yaml holds, the runtime starts: with what the caller wrote, and more only where the file is understood.
func FuzzLaunchFiles(f *testing.F) {
	s := install(f, "")
	runtime := filepath.Join(s.real, recorder)
	self, err := os.Executable()
	must(f, err)
	must(f, os.Remove(runtime))
	must(f, os.Symlink(self, runtime))
	file := prefix.LaunchFile(s.prefix)
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		must(t, os.WriteFile(file, []byte(randomRecord(chance, runtime)), 0o644))
		words := []string{"exec", "--nv", "img " + chance.Text(9), "sh", chance.Text(20), "--mpiimport"}
		command := exec.Command(filepath.Join(s.prefix, "shim", recorder), words...)
		command.Env = []string{"PATH=" + s.path(), "HOME=/none", "X=" + chance.Text(40), "NOVALUE", "APPTAINERENV_X=y\n\xff"}
		own := slices.Clone(command.Env)
		mode := fuzzing.One(chance, "1", "1", "force", "0", "odd")
		command.Env = append(command.Env, "MPIIMPORT="+mode)
		text, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		known, broken := runtimes.Read(file)
		isAsked := mode == "1" || mode == "force"
		isPossible := broken == nil && !known[runtime].NoBinds && !known[runtime].NoNewPlaces
		if says := len(text) > 0; says != (mode == "odd" || isAsked && !isPossible) || strings.Count(string(text), "\n") > 1 {
			t.Fatalf("MPIIMPORT=%s, %v, and it says %q", mode, broken, text)
		}
		if isAsked && !isPossible && !strings.Contains(string(text), "mpiimport-plan record") {
			t.Fatalf("no remedy: %q", text)
		}
		got, env := writtenDown(t, s, "cmdline")[1:], writtenDown(t, s, "environ")
		for _, entry := range own {
			if !slices.Contains(env, entry) {
				t.Fatalf("%q is lost: %q", entry, env)
			}
		}
		if isAsked && isPossible {
			added := []string{"--bind", s.prefix + ":" + launch.Inside + ":ro"}
			words = slices.Concat(words[:1], added, words[1:])
		}
		if !slices.Equal(got, words) {
			t.Fatalf("the runtime got %q, not %q", got, words)
		}
		return isAsked && isPossible
	})
}
