package profile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

func files(t *testing.T, directory string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", directory, "*.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no test vectors in %s: %v", directory, err)
	}
	return found
}

func TestAcceptedProfilesLoad(t *testing.T) {
	for _, file := range files(t, "accept") {
		if _, err := readFile(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestRejectedProfilesNameFileAndRemedy(t *testing.T) {
	for _, file := range append(files(t, "reject"), files(t, "reject-text")...) {
		_, err := readFile(file)
		if err == nil {
			t.Errorf("%s was accepted", file)
			continue
		}
		if !strings.HasPrefix(err.Error(), file+":") || !strings.Contains(err.Error(), ";") && !strings.Contains(err.Error(), "(") {
			t.Errorf("the message lacks its place or a remedy: %v", err)
		}
	}
}

func TestMistakesAreReportedWithLineAndNearestKey(t *testing.T) {
	for file, want := range map[string][]string{
		"reject/unknown-key":           {":4: ", `"enviroment"`, "did you mean environment?"},
		"reject/unknown-service-key":   {":4: ", "did you mean readers?"},
		"reject/unknown-nested-key":    {":6: ", "mounts[0]", `"destination"`, "source, target"},
		"reject/odd-mount-option":      {":5: ", "mounts[0].options", "ro, rw"},
		"reject/number-as-value":       {":5: ", "environment.set.A", "write '1', in quotes"},
		"reject/no-description":        {":1: ", `lacks the key "description"`},
		"reject/newer-version":         {":1: ", "schema_version is 2", "install a newer mpiimport"},
		"reject-text/double-key":       {":5: ", "twice (first in line 4)"},
		"reject-text/not-yaml":         {": this is not YAML"},
		"reject-text/other-name":       {`name is "another"`, "other-name.yaml"},
		"reject-text/nul-in-value":     {":5: ", "environment.set.A", "NUL"},
		"reject-text/set-and-default":  {":6: ", "A is under set and under default", "keep one"},
		"reject-text/device-as-mount":  {":4: ", "list it under devices"},
		"reject-text/glob-with-target": {":5: ", "remove target"},
	} {
		_, err := readFile(filepath.Join("testdata", file+".yaml"))
		if err == nil {
			t.Errorf("%s was accepted", file)
			continue
		}
		for _, words := range want {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %q is missing in: %v", file, words, err)
			}
		}
	}
}

func TestSchemaFileSaysWhatTheCodeChecks(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "mpiimport", "profiles", "profile.schema.json")
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(want) {
		t.Errorf("%s is out of date; write it with: go run ./cmd/mpiimport-plan schema", file)
	}
}

func TestShippedProfilesLoad(t *testing.T) {
	directory := filepath.Join("..", "..", "mpiimport", "profiles")
	for _, name := range Names([]string{directory}) {
		p, err := Load(name, []string{directory})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, m := range p.Mounts {
			if !m.Optional {
				t.Errorf("%s: the mount %s is not optional; not every machine has it", name, m.Source)
			}
		}
		for _, e := range []Environment{p.Environment, p.UserNamespace.Environment} {
			if _, swaps := e.Append["LD_LIBRARY_PATH"]; swaps || e.Set["LD_LIBRARY_PATH"] != "" || e.Default["LD_LIBRARY_PATH"] != "" || e.Set["LD_PRELOAD"] != "" {
				t.Errorf("%s would swap the image's MPI", name)
			}
		}
	}
}

func write(t *testing.T, directory, name, body string) {
	t.Helper()
	text := "schema_version: 1\nname: " + name + "\ndescription: a test\n" + body
	if err := os.WriteFile(filepath.Join(directory, name+".yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyFilesOfAProfilesSizeAreRead(t *testing.T) {
	directory := t.TempDir()
	large, pipe := filepath.Join(directory, "large.yaml"), filepath.Join(directory, "pipe.yaml")
	if err := errors.Join(os.WriteFile(large, nil, 0o644), os.Truncate(large, largestFile+1), syscall.Mkfifo(pipe, 0o644)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		large: "more than 1048576 bytes", pipe: "no regular file", "/dev/zero": "no regular file", directory: "no regular file",
	} {
		if _, err := Load(file, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestMessagesShowNoMoreThanTellsWhatWasMeant(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(long, []byte(strings.Repeat("line\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{strings.Repeat("a", 100_000), "a\n\x1b[2J", long} {
		if _, err := Load(name, nil); err == nil || len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%.300v", err)
		}
	}
}

func TestTheStrongestDirectoryWins(t *testing.T) {
	packaged, site := t.TempDir(), t.TempDir()
	write(t, packaged, "same", "service: {readers: 1}\n")
	write(t, site, "same", "service: {readers: 2}\n")
	p, err := Load("same", []string{packaged, site, filepath.Join(site, "missing")})
	if err != nil || p.Service["readers"] != "2" {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestExtendingMergesMappingsAndAppendsLists(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "base", "mounts: [{source: /a}]\nenvironment:\n  set: {A: base, B: base, C: base}\n  unset: [U, V]\n")
	write(t, directory, "site", "extends: base\nmounts: [{source: /b}]\nenvironment:\n  set: {B: site, U: site}\n  unset: [C]\n")
	p, err := Load("site", []string{directory})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Mounts) != 2 || p.Mounts[0].Source != "/a" || p.Mounts[1].Source != "/b" {
		t.Errorf("mounts: %+v", p.Mounts)
	}
	set := p.Environment.Set
	if len(set) != 3 || set["A"] != "base" || set["B"] != "site" || set["U"] != "site" {
		t.Errorf("set: %v", set)
	}
	if strings.Join(p.Environment.Unset, " ") != "V C" {
		t.Errorf("unset: %v", p.Environment.Unset)
	}
	if len(p.Files) != 2 || !strings.HasSuffix(p.Files[0], "base.yaml") {
		t.Errorf("files: %v", p.Files)
	}
}

func TestProfilesThatCannotBeFound(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "mpich", "")
	write(t, directory, "ring-a", "extends: ring-b\n")
	write(t, directory, "ring-b", "extends: ring-a\n")
	write(t, directory, "orphan", "extends: nobody\n")
	for name, want := range map[string]string{
		"mpcih":      "did you mean mpich? (known: mpich, orphan, ring-a, ring-b;",
		"ring-a":     "in a circle",
		"orphan":     "extended by",
		"Mpich":      "cannot be the name",
		"../x":       "cannot read the profile",
		"bad name":   "cannot be the name",
		"mpich.yaml": "./mpich.yaml",
	} {
		if _, err := Load(name, []string{directory}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q is missing in: %v", name, want, err)
		}
	}
}

func TestNoNameIsTheSitesDefaultOrTheBuiltInOne(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"", "default"} {
		p, err := Load(name, []string{directory})
		if err != nil || p.Name != "default" || len(p.Mounts) != 0 || len(p.Files) != 0 {
			t.Errorf("%q: %+v, %v", name, p, err)
		}
	}
	write(t, directory, "default", "service: {readers: 3}\n")
	for _, name := range []string{"", "default"} {
		if p, err := Load(name, []string{directory}); err != nil || p.Service["readers"] != "3" {
			t.Errorf("%q: a site's default.yaml is not used: %+v, %v", name, p, err)
		}
	}
}

func TestUserProfilesComeFromXDGThenHome(t *testing.T) {
	for want, env := range map[string][]string{
		"/x/mpiimport/profiles":         {"XDG_CONFIG_HOME=/x", "HOME=/h"},
		"/h/.config/mpiimport/profiles": {"HOME=/h"},
		"/etc/mpiimport/profiles.d":     {"XDG_CONFIG_HOME=relative"},
	} {
		d := Directories("/p", env)
		if d[0] != "/p/profiles" || d[len(d)-1] != want {
			t.Errorf("%v: %v", env, d)
		}
	}
}

func TestADirectoryThatCannotBeHoldsNoProfile(t *testing.T) {
	shipped := t.TempDir()
	write(t, shipped, "mpich", "")
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{"/dev/null", loop, "/" + strings.Repeat("long", 100), filepath.Join(shipped, "mpich.yaml")} {
		directories := []string{shipped, filepath.Join(home, ".config", "mpiimport", "profiles")}
		if p, err := Load("mpich", directories); err != nil || p.Name != "mpich" {
			t.Errorf("%s: %v", home, err)
		}
		if _, err := Load("mpichh", directories); err == nil || !strings.Contains(err.Error(), "did you mean mpich?") {
			t.Errorf("%s: %v", home, err)
		}
	}
}

// What is accepted keeps its meaning when it is put together from its values, as merging does.
func FuzzParse(f *testing.F) {
	for _, directory := range []string{"accept", "reject", "reject-text"} {
		found, _ := filepath.Glob(filepath.Join("testdata", directory, "*.yaml"))
		for _, file := range found {
			content, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			f.Add([]byte(strings.Replace(string(content), "name: "+name, "name: site", 1)))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := Parse("site.yaml", content)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "site.yaml:") {
				t.Errorf("the message lacks its place: %v", err)
			}
			return
		}
		again, err := over([]*Profile{Default()}, p)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("over the default it is %+v, not %+v (%v)", again, p, err)
		}
		for _, caller := range [][]string{nil, {"A=/a:b", "USER=${USER}", "TMPDIR=*"}} {
			if _, err := p.For(caller); err != nil {
				t.Errorf("for the caller %q: %v", caller, err)
			}
		}
	})
}
