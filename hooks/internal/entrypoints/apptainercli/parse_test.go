package apptainercli

import (
	"reflect"
	"strings"
	"testing"
)

func TestImageAndCommandAreFound(t *testing.T) {
	for given, want := range map[string]struct{ action, image, command string }{
		"exec img python app.py":                                 {"exec", "img", "python app.py"},
		"exec --bind /a:/b img cmd":                              {"exec", "img", "cmd"},
		"exec --bind=/a:/b img cmd":                              {"exec", "img", "cmd"},
		"exec -B /a img cmd":                                     {"exec", "img", "cmd"},
		"exec -B/a img cmd":                                      {"exec", "img", "cmd"},
		"exec -B=/a img cmd":                                     {"exec", "img", "cmd"},
		"exec -ecB /a img cmd":                                   {"exec", "img", "cmd"},
		"exec -e=false --nv img cmd --bind x":                    {"exec", "img", "cmd --bind x"},
		"exec --nv=true --env A=1 --env-file f --pwd /x img cmd": {"exec", "img", "cmd"},
		"exec -- img cmd":                                        {"exec", "img", "cmd"},
		"-d exec img cmd":                                        {"exec", "img", "cmd"},
		"--debug -q --config /c exec img cmd":                    {"exec", "img", "cmd"},
		"-c /c exec img cmd":                                     {"exec", "img", "cmd"},
		"run -u docker://x a b":                                  {"run", "docker://x", "a b"},
		"shell -s /bin/zsh img":                                  {"shell", "img", ""},
		"shell --shell /bin/zsh img":                             {"shell", "img", ""},
		"exec --mpiimport fast img":                              {"exec", "fast", "img"},
		"exec --sharens --runscript-timeout 5s --device v/c=n i": {"exec", "i", ""},
		"pull --dir x docker://y":                                {"pull", "", ""},
		"test -B /a oras://x -v":                                 {"test", "oras://x", "-v"},
		"instance start --boot img name a b":                     {"instance start", "img", "a b"},
		"-d instance run --pid-file f library://a/b name":        {"instance run", "library://a/b", ""},
		"instance start img":                                     {"instance start", "img", ""},
		"instance list":                                          {"instance list", "", ""},
		"instance":                                               {"instance", "", ""},
		"exec":                                                   {"exec", "", ""},
		"exec --":                                                {"exec", "", ""},
		"--version":                                              {"", "", ""},
		"":                                                       {"", "", ""},
	} {
		l := Parse(strings.Fields(given))
		if l.Doubt != "" || l.Action != want.action || l.Image() != want.image || strings.Join(l.Command(), " ") != want.command {
			t.Errorf("%s: doubt %q, %s, %q, %q", given, l.Doubt, l.Action, l.Image(), l.Command())
		}
	}
}

func TestTheFlagIsTakenOutWhereItIsAnOption(t *testing.T) {
	for given, want := range map[string]struct {
		asked   bool
		profile string
		without string
	}{
		"exec --mpiimport img cmd":                       {true, "", "exec img cmd"},
		"exec --mpiimport=mpich img cmd":                 {true, "mpich", "exec img cmd"},
		"exec --nv --mpiimport=./p.yaml -B /a img c":     {true, "./p.yaml", "exec --nv -B /a img c"},
		"exec --mpiimport=a --mpiimport=b img c":         {true, "b", "exec img c"},
		"exec img cmd --mpiimport":                       {false, "", "exec img cmd --mpiimport"},
		"exec --bind --mpiimport img cmd":                {false, "", "exec --bind --mpiimport img cmd"},
		"exec -- img --mpiimport":                        {false, "", "exec -- img --mpiimport"},
		"exec --mpiimport -- img cmd":                    {true, "", "exec -- img cmd"},
		"test --mpiimport img":                           {true, "", "test img"},
		"instance start --mpiimport=p img name a":        {true, "p", "instance start img name a"},
		"instance list --mpiimport":                      {false, "", "instance list --mpiimport"},
		"pull --mpiimport img":                           {false, "", "pull --mpiimport img"},
		"exec --mpiimportant img cmd":                    {false, "", "exec --mpiimportant img cmd"},
		"exec --unheard-of --mpiimport img cmd":          {true, "", "exec --unheard-of img cmd"},
		"exec --unheard-of value --mpiimport img cmd":    {true, "", "exec --unheard-of value img cmd"},
		"exec --unheard-of img cmd --mpiimport":          {false, "", "exec --unheard-of img cmd --mpiimport"},
		"exec -B /a --unheard-of=v --mpiimport img cmd":  {true, "", "exec -B /a --unheard-of=v img cmd"},
		"--silent run --mpiimport=x library://y --debug": {true, "x", "--silent run library://y --debug"},
	} {
		l := Parse(strings.Fields(given))
		if l.Asked != want.asked || l.Value != want.profile || strings.Join(l.WithoutFlag(), " ") != want.without {
			t.Errorf("%s: %v %q %q", given, l.Asked, l.Value, l.WithoutFlag())
		}
	}
}

func TestUnknownOptionsRaiseADoubt(t *testing.T) {
	for given, doubt := range map[string]bool{
		"exec --unheard-of img cmd":   true,
		"exec --unheard-of=v img cmd": false,
		"exec -Z img cmd":             true,
		"exec -eZ img cmd":            true,
		"--unheard-of exec img cmd":   true,
		"exec --bind":                 true,
		"exec img --unheard-of":       false,
	} {
		if l := Parse(strings.Fields(given)); (l.Doubt != "") != doubt {
			t.Errorf("%s: %q", given, l.Doubt)
		}
	}
}

func TestEditsAreMadeOnce(t *testing.T) {
	binds := []string{"/p:/.mpiimport:ro", "/x:/x:ro"}
	l := Parse(strings.Fields("-d exec --mpiimport --nv img python app.py"))
	got := l.Edit(binds, []string{"entry", "python", "app.py"})
	want := "-d exec --bind /p:/.mpiimport:ro --bind /x:/x:ro --nv img entry python app.py"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
	if again := Parse(got); !reflect.DeepEqual(again.Edit(binds, again.Command()), got) {
		t.Errorf("again %q", again.Args)
	}
}

func TestALineWithoutACommandStaysAsItIs(t *testing.T) {
	for _, line := range []string{"", "-v", "--"} {
		if got := Parse(strings.Fields(line)).Adding([]string{"--nv"}).WithoutFlag(); strings.Join(got, " ") != line {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func TestOptionsMayComeFromTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		line, option string
		env          []string
		want         string
	}{
		{"exec -u img c", "userns", nil, "true"},
		{"exec --userns=false img c", "userns", []string{"APPTAINER_USERNS=1"}, "false"},
		{"exec img c", "userns", []string{"APPTAINER_USERNS=1"}, "1"},
		{"exec img c", "userns", []string{"SINGULARITY_UNSHARE_USERNS=true"}, "true"},
		{"exec img c", "userns", []string{"APPTAINER_USERNS="}, ""},
		{"exec img c -u", "userns", nil, ""},
		{"exec -ef img c", "fakeroot", nil, "true"},
		{"instance start -B /a -w img name", "writable", nil, "true"},
	} {
		if got := Parse(strings.Fields(c.line)).Options(c.env)[c.option]; got != c.want {
			t.Errorf("%s %v: %v", c.line, c.env, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, given := range []string{"exec --mpiimport img c", "-d run -B /a img", "shell -s x img", "exec -- img", "exec --x y --mpiimport=z", "exec -eB"} {
		f.Add(strings.ReplaceAll(given, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		l := Parse(args)
		if !l.Asked && !reflect.DeepEqual(l.WithoutFlag(), args) {
			t.Fatalf("%q became %q", args, l.WithoutFlag())
		}
		if l.Asked && Parse(l.WithoutFlag()).Image() != l.Image() && l.Doubt == "" {
			t.Fatalf("%q: the image %q is lost", args, l.Image())
		}
		l.Edit([]string{"/a:/b:ro"}, []string{"entry"})
		l.Command()
	})
}
