package shim

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/pythoncli"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/launch"
)

// line is a command line in its parts. An option is a part with its value.
type line struct {
	globals, options, image, command []string
	action                           string
	switches                         map[int]string // the switch, by the option that it stands in front of
}

// words returns the line as the runtime takes it, or with the switch.
func (l line) words(isAsked bool) []string {
	out := slices.Concat(l.globals, strings.Fields(l.action))
	for i := 0; i <= len(l.options); i++ {
		if word, there := l.switches[i]; there && isAsked {
			out = append(out, word)
		}
		if i < len(l.options) {
			out = append(out, strings.Split(l.options[i], "\x00")...)
		}
	}
	return slices.Concat(out, l.image, l.command)
}

// randomLine makes a line that the runtimes understand, or one with an option that only they know.
func randomLine(chance *fuzzing.Chance) line {
	l := line{action: fuzzing.One(chance, containerstart.Actions...), switches: map[int]string{}}
	for chance.In(4) {
		l.globals = append(l.globals, fuzzing.One(chance, "-d", "-q", "--debug", "--silent", "--config=/none", "-s"))
	}
	for range chance.Below(6) {
		l.options = append(l.options, randomOption(chance))
	}
	for chance.In(2) {
		l.switches[chance.Below(len(l.options)+1)] = fuzzing.One(chance, "--mpiimport", "--mpiimport=", "--mpiimport=1", "--mpiimport=site", "--mpiimport=false")
	}
	if chance.In(4) {
		l.image = append(l.image, "--")
	}
	l.image = append(l.image, fuzzing.One(chance, "img.sif", "docker://a/b", "/a b/c", "./\n", "\xff", "instance://x", "=", "mpiimport"))
	if containerstart.CommandAt(l.action) == 2 {
		l.image = append(l.image, fuzzing.One(chance, "name", "--mpiimport", "-x"))
	}
	for range chance.Below(7) {
		l.command = append(l.command, randomWord(chance))
	}
	return l
}

func randomWord(chance *fuzzing.Chance) string {
	if chance.In(3) {
		return chance.Text(12)
	}
	return fuzzing.One(chance, "python", "python3", "/usr/bin/python3.12", "-m", "-c", "app.py", "--mpiimport", "--mpiimport=x", "--", "-", "", "--bind", "-u", "-B")
}

func randomOption(chance *fuzzing.Chance) string {
	value := fuzzing.One(chance, "/a:/b", "--mpiimport", "--mpiimport=site", "", "-x", "--", "a b", chance.Text(8))
	switch chance.Below(6) {
	case 0:
		return fuzzing.One(chance, "--bind", "--env", "--home", "--pwd", "--overlay", "-B", "-H", "-W", "-eB", "-ucB") + "\x00" + value
	case 1:
		return fuzzing.One(chance, "--bind=", "--env=", "--unheard-of=", "-B=", "--nv=", "--userns=") + value
	case 2:
		return "-B" + fuzzing.One(chance, "/a:/b", "/a", "x=y")
	case 3:
		return fuzzing.One(chance, "--containall", "--pid", "--compat", "--writable", "-w", "--boot", "--no-eval", "--help", "-Z", "--unheard-of=")
	}
	return fuzzing.One(chance, "--nv", "-e", "-ue", "--no-home", "--fakeroot", "-f", "--rocm", "--writable-tmpfs", "--mpiimportant=1")
}

func randomEnvironment(chance *fuzzing.Chance) []string {
	env := []string{"HOME=/none"}
	for chance.In(2) {
		env = append(env, fuzzing.One(chance, "PMI_RANK=0", "PMI_RANK=3", "PYTHONPATH=/p/lib/mpiimport/pythonpath:/u", "PYTHONPATH=/u", "APPTAINERENV_A=b", "APPTAINER_BIND=/x",
			"SINGULARITYENV_PYTHONPATH=/c", "MPI_LOCALNRANKS=4", "LD_PRELOAD=x", "_MPIIMPORT_PID=1", "_MPIIMPORT_START=early", "_MPIIMPORT_PLAN={", "NOVALUE", "=x",
			"APPTAINER_CONTAINER=x", "MPIIMPORT_REPORT=r", "PYTHONINSPECT=1", "APPTAINER_USERNS=1", "X="+chance.Text(20)))
	}
	return env
}

// What the runtime gets is the line without the switch, and the caller's environment, or more than that; never less.
func FuzzCommandLines(f *testing.F) {
	config := profileDirectory(f, "site", "environment: {set: {S: '1'}, append: {L: /l}}\ncontainer: {options: [--keep-privs, '--cwd=/x']}\nmounts: [{source: /usr, target: /data}]\n")
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		l := randomLine(chance)
		plain, asked := l.words(false), l.words(true)
		if isGuess(l) {
			plain = Plain(asked)
		}
		if got := Plain(asked); !slices.Equal(got, plain) {
			t.Fatalf("%q becomes %q, not %q", asked, got, plain)
		}
		env := append(randomEnvironment(chance), "XDG_CONFIG_HOME="+config)
		call := Call{Args: asked, Env: env, Prefix: "/p", Facts: containerstart.Facts{Flavour: fuzzing.One(chance, "apptainer", "singularityce", "")}, Root: chance.In(2)}
		off := call
		off.Env = slices.Concat([]string{"MPIIMPORT=0"}, env)
		unasked := call
		unasked.Args = plain
		for _, c := range []Call{off, unasked} {
			out, err := Decide(c)
			if err != nil || out.Note != "" && !isGuess(l) || !slices.Equal(out.Args, Plain(c.Args)) || !slices.Equal(out.Env, c.Env) {
				t.Fatalf("not asked for: %q became %q, note %q, %v\n%q\n%q", c.Args, out.Args, out.Note, err, c.Env, out.Env)
			}
		}
		if chance.In(3) {
			call.Env = append(env, fuzzing.One(chance, "MPIIMPORT=1", "MPIIMPORT=force", "MPIIMPORT=odd", "APPTAINER_MPIIMPORT=site"))
		}
		out, err := Decide(call)
		if err != nil {
			t.Fatalf("%q does not start: %v", asked, err)
		}
		return checkStart(t, l, call, out)
	})
}

// isGuess says whether an option stands there of which only the runtime knows if the next word is its value or the image.
// A switch behind that word is then taken for ours.
func isGuess(l line) bool {
	return slices.ContainsFunc(l.options, func(option string) bool { return option == "-Z" })
}

// checkStart says whether more than the plain start came out, and fails where it is less.
func checkStart(t *testing.T, l line, call Call, out Outcome) bool {
	t.Helper()
	plain := l.words(false)
	if slices.Equal(out.Args, plain) || isGuess(l) {
		if !reflect.DeepEqual(out.Env, call.Env) {
			t.Fatalf("%q is plain, and its environment is not:\n%q\n%q", plain, call.Env, out.Env)
		}
		return false
	}
	head := slices.Concat(l.globals, strings.Fields(l.action))
	tail := slices.Clone(plain[len(head):])
	got := slices.Clone(out.Args)
	if len(got) < len(plain) || !slices.Equal(got[:len(head)], head) {
		t.Fatalf("%q became %q", plain, got)
	}
	got = withoutAdded(got[len(head):])
	if l.action == containerstart.Exec {
		before := len(tail) - len(l.command)
		command := withoutEntry(got[min(before, len(got)):])
		got = slices.Concat(got[:min(before, len(got))], withoutStart(command, l.command))
	}
	if !slices.Equal(got, tail) {
		t.Fatalf("of %q remains %q in %q", tail, got, out.Args)
	}
	for _, variable := range call.Env {
		name, value, _ := strings.Cut(variable, "=")
		if name == "PYTHONPATH" || strings.HasPrefix(name, "SINGULARITYENV_") || strings.HasPrefix(name, "APPTAINERENV_") || name == "_MPIIMPORT_PLAN" {
			continue
		}
		if !slices.Contains(out.Env, variable) {
			t.Fatalf("%s=%q is lost: %q", name, value, out.Env)
		}
	}
	if value, _ := environ.Get(call.Env, "PYTHONPATH"); strings.HasSuffix(value, "/u") {
		if now, _ := environ.Get(out.Env, "PYTHONPATH"); now != "/u" {
			t.Fatalf("PYTHONPATH was %q and is %q", value, now)
		}
	}
	return true
}

// withoutAdded takes away what a plan may put behind the subcommand.
func withoutAdded(words []string) []string {
	for len(words) > 0 {
		switch {
		case words[0] == "--bind" && len(words) > 1 && (strings.HasSuffix(words[1], ":/.mpiimport:ro") || words[1] == "/usr:/data:ro"):
			words = words[2:]
		case words[0] == "--keep-privs" || words[0] == "--cwd=/x":
			words = words[1:]
		default:
			return words
		}
	}
	return words
}

// withoutEntry takes the entry binary from the front of a command.
func withoutEntry(words []string) []string {
	if len(words) > 1 && words[0] == launch.EntryPath && words[1] == entry.Absolute {
		return words[2:]
	}
	return words
}

// withoutStart takes the start script out of a rank's command, once. A `--` in front of the program is not needed behind it,
// and -cTEXT may stand there as two words.
func withoutStart(got, want []string) []string {
	const script = "/.mpiimport/lib/mpiimport/start.py"
	if len(want) > 0 && slices.Contains(got, script) && !slices.Equal(got, want) {
		line := pythoncli.Parse(want[1:])
		if slices.Equal(got, slices.Concat(want[:1], line.Words("-S", script))) {
			return want
		}
	}
	return got
}
