package pythoncli

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

func TestTheStartScriptGoesBetweenOptionsAndProgram(t *testing.T) {
	for given, want := range map[string]string{
		"app.py":                               "START app.py",
		"app.py -m x -S":                       "START app.py -m x -S",
		"-u app.py a":                          "-u START app.py a",
		"-m pkg.mod a -b":                      "START -m pkg.mod a -b",
		"-um mod":                              "-u START -m mod",
		"-mmod a":                              "START -m mod a",
		"-umod.py":                             "-u START -m od.py",
		"-c pass -x":                           "START -c pass -x",
		"-Ec pass":                             "-E START -c pass",
		"-cpass":                               "START -c pass",
		"- a":                                  "START - a",
		"-Wd app.py":                           "-Wd START app.py",
		"-W d app.py":                          "-W d START app.py",
		"-uW d app.py":                         "-uW d START app.py",
		"-X dev -X importtime app.py":          "-X dev -X importtime START app.py",
		"-Xdev -OO -bb app.py":                 "-Xdev -OO -bb START app.py",
		"--check-hash-based-pycs never app.py": "--check-hash-based-pycs never START app.py",
		"-- app.py":                            "START app.py",
		"-I -s -P -B -q -v -d -R app.py":       "-I -s -P -B -q -v -d -R START app.py",
	} {
		l := Parse(strings.Fields(given))
		if got := strings.Join(l.Words("START"), " "); l.Plain || got != want {
			t.Errorf("%s: %q (plain %v), want %q", given, got, l.Plain, want)
		}
	}
}

func TestAnUnusualCommandLineIsLeftAlone(t *testing.T) {
	for _, given := range []string{
		"", "-i app.py", "-ui app.py", "-x app.py", "-V", "-VV", "--version", "-h", "--help", "--help-all", "-?",
		"-u", "-m", "-c", "-W", "-X", "--check-hash-based-pycs", "--check-hash-based-pycs=never app.py",
		"--new-option app.py", "-Z app.py", "-J app.py", "--", "-- -app.py", "-um",
	} {
		if l := Parse(strings.Fields(given)); !l.Plain {
			t.Errorf("%s: %+v", given, l)
		}
	}
	if l := Parse([]string{""}); !l.Plain {
		t.Errorf("an empty word: %+v", l)
	}
}

func TestTheUsersNoSiteIsSeen(t *testing.T) {
	for given, want := range map[string]bool{
		"-S app.py": true, "-uS app.py": true, "-Sm mod": true, "app.py -S": false, "-W S app.py": false, "-WS app.py": false,
	} {
		if l := Parse(strings.Fields(given)); l.NoSite != want {
			t.Errorf("%s: %v", given, l.NoSite)
		}
	}
}

// CPython itself is the judge of what its options mean.
func TestPythonAgreesOnWhereTheProgramIs(t *testing.T) {
	// The command may be a slow wrapper; ask it once where the interpreter is.
	where, err := exec.Command("python3", "-Sc", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip("no python3 to compare with")
	}
	python := strings.TrimSpace(string(where))
	for _, given := range []string{"-uc CODE a -b", "-Ec CODE", "-cCODE x", "-W d -c CODE", "-X utf8 -c CODE -m y", "-Xutf8 -BSc CODE z", "-OOIc CODE", "--check-hash-based-pycs never -c CODE q"} {
		words := strings.Fields(given)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "CODE", "import sys; print(sys.argv[1:])")
		}
		plain, err := exec.Command(python, words...).Output()
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		again, err := exec.Command(python, Parse(words).Words()...).Output()
		if err != nil || string(again) != string(plain) {
			t.Errorf("%s: %q became %q (%v)", given, plain, again, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, given := range []string{"-um mod a", "app.py -x", "-W\x00d\x00app.py", "-- app.py", "-c", "-S\x00-", "--\x00"} {
		f.Add(strings.ReplaceAll(given, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		l := Parse(args)
		if l.Plain {
			return
		}
		if len(l.Target) == 0 {
			t.Fatalf("%q: no target: %+v", args, l)
		}
		again := Parse(l.Words())
		if !reflect.DeepEqual(again.Target, l.Target) || !reflect.DeepEqual(append([]string{}, again.Args...), append([]string{}, l.Args...)) || again.NoSite != l.NoSite {
			t.Fatalf("%q: %+v became %+v", args, l, again)
		}
	})
}
