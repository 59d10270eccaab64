package shim

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/leaves/environ"
)

const entryWords = " /.mpiimport/bin/mpiimport-entry --absolute "

func decide(t *testing.T, line string, env ...string) (Outcome, error) {
	t.Helper()
	return Decide(Call{Args: strings.Fields(line), Env: append(env, "HOME=/none"), Prefix: "/p", Facts: containerstart.Facts{Flavour: "apptainer"}, Root: true})
}

func TestWhatACallBecomes(t *testing.T) {
	const bind = "--bind /p:/.mpiimport:ro"
	for name, c := range map[string]struct {
		line string
		env  []string
		want string
	}{
		"exec with the flag":         {"exec --mpiimport img python a.py", nil, "exec " + bind + " img python a.py"},
		"exec with the variable":     {"exec --nv img python a.py", []string{"MPIIMPORT=1"}, "exec " + bind + " --nv img python a.py"},
		"exec forced":                {"exec img python a.py", []string{"MPIIMPORT=force"}, "exec " + bind + " img python a.py"},
		"exec with a variable":       {"exec --mpiimport --env A=b img python a.py", nil, "exec " + bind + " --env A=b img" + entryWords + "python a.py"},
		"exec with a file of them":   {"exec --mpiimport img python a.py", []string{"APPTAINER_ENV_FILE=/f"}, "exec " + bind + " img" + entryWords + "python a.py"},
		"run keeps its command":      {"run --mpiimport img a", nil, "run " + bind + " img a"},
		"shell keeps its command":    {"shell --mpiimport img", nil, "shell " + bind + " img"},
		"not asked":                  {"exec img python", nil, "exec img python"},
		"switched off":               {"exec --mpiimport img python", []string{"MPIIMPORT=0"}, "exec img python"},
		"other subcommands":          {"pull x", []string{"MPIIMPORT=1"}, "pull x"},
		"help":                       {"exec --mpiimport --help", nil, "exec --help"},
		"no image":                   {"exec --mpiimport", nil, "exec"},
		"already done":               {"exec " + bind + " img" + entryWords + "python", []string{"MPIIMPORT=1"}, "exec " + bind + " img" + entryWords + "python"},
		"MPIIMPORT is something odd": {"exec img python", []string{"MPIIMPORT=yes"}, "exec img python"},
	} {
		out, err := decide(t, c.line, c.env...)
		if err != nil || strings.Join(out.Args, " ") != strings.Join(strings.Fields(c.want), " ") {
			t.Errorf("%s: %q %v", name, out.Args, err)
		}
	}
}

func TestWhatIsNotAcceleratedIsUnchangedAndSaysWhy(t *testing.T) {
	for line, why := range map[string]string{
		"exec --unheard-of --mpiimport img python":  "--unheard-of",
		"exec --mpiimport instance://x python":      "running instance",
		"exec --mpiimport --writable img python":    "--writable-tmpfs",
		"exec --mpiimport -w img python":            "--writable-tmpfs",
		"exec --mpiimport --dmtcp-launch x img pyt": "checkpointing",
		"exec --mpiimport img -- python":            "hyphen",
	} {
		out, err := decide(t, line)
		if err != nil || !strings.Contains(out.Note, why) || strings.Count(out.Note, "\n") != 0 {
			t.Errorf("%s: note %q, %v", line, out.Note, err)
		}
		if got := strings.Join(out.Args, " "); got != strings.Replace(line, "--mpiimport ", "", 1) {
			t.Errorf("%s: %s", line, got)
		}
		if !reflect.DeepEqual(out.Env, []string{"HOME=/none"}) {
			t.Errorf("%s: the environment changed: %q", line, out.Env)
		}
	}
}

func TestAJobSaysItOnce(t *testing.T) {
	for rank, says := range map[string]bool{"PMI_RANK=0": true, "PMI_RANK=1": false, "OMPI_COMM_WORLD_RANK=12": false, "X=1": true} {
		if out, _ := decide(t, "exec --mpiimport -w img python", rank); (out.Note != "") != says {
			t.Errorf("%s: %q", rank, out.Note)
		}
	}
}

func profileDirectory(t testing.TB, name, body string) string {
	t.Helper()
	config := t.TempDir()
	directory := filepath.Join(config, "mpiimport", "profiles")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "schema_version: 1\nname: " + name + "\ndescription: a test\n" + body
	if err := os.WriteFile(filepath.Join(directory, name+".yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestTheFlagsProfileBeatsTheVariables(t *testing.T) {
	config := profileDirectory(t, "site", "environment:\n  set: {A: x}\nuser_namespace:\n  environment:\n    set: {B: y}\n")
	env := []string{"XDG_CONFIG_HOME=" + config, "MPIIMPORT_PROFILE=nobody"}
	if _, err := decide(t, "exec --mpiimport img python", env...); err == nil {
		t.Error("MPIIMPORT_PROFILE is not read")
	}
	for line, b := range map[string]string{"exec --mpiimport=site img python": "", "exec --mpiimport=site -u img python": "y", "exec --mpiimport=site -f img python": "y"} {
		out, err := decide(t, line, env...)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"A": "x", "B": b, "MPIIMPORT": "1", "MPIIMPORT_PROFILE": "site"} {
			if got, _ := environ.Get(out.Env, "APPTAINERENV_"+name); got != want {
				t.Errorf("%s: %s is %q, want %q", line, name, got, want)
			}
		}
		entry := strings.Contains(strings.Join(out.Args, " "), entryWords)
		if _, entryPoint := environ.Get(out.Env, "APPTAINERENV_PYTHONPATH"); entryPoint == entry {
			t.Errorf("%s: entry %v, entryPoint %v", line, entry, entryPoint)
		}
	}
}

func TestMistakesStopBeforeAnythingStarts(t *testing.T) {
	config := profileDirectory(t, "site", "mounts: [{source: /no/such/thing}]\n")
	for line, want := range map[string]string{
		"exec --mpiimport=stie img python":        "did you mean site?",
		"exec --mpiimport=site img python":        "site.yaml:4: the mount source /no/such/thing does not exist",
		"exec --mpiimport=/no/file img python":    "cannot read the profile",
		"exec --mpiimport=No/../file img python":  "cannot read the profile",
		"shell --mpiimport=UPPER img":             "cannot be the name",
		"run --mpiimport=mpiimport-nothing img x": "there is no profile",
	} {
		if _, err := decide(t, line, "XDG_CONFIG_HOME="+config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestShellsAndRunsGetTheEntryPoint(t *testing.T) {
	out, _ := decide(t, "run --mpiimport img", "PMI_RANK=1")
	for name, want := range map[string]string{"PYTHONPATH": "/.mpiimport/lib/mpiimport/pythonpath${PYTHONPATH:+:$PYTHONPATH}", "_MPIIMPORT_PID": "$$"} {
		if got, _ := environ.Get(out.Env, "APPTAINERENV_"+name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for line, want := range map[string]string{
		"run --mpiimport --no-eval img": "shell evaluation", "shell --mpiimport --compat img": "shell evaluation",
		"run --mpiimport --pid img": "PID namespace", "run --mpiimport -C img": "PID namespace",
		"run --mpiimport --pid --no-init img": "", "exec --mpiimport --pid img python": "", "exec --mpiimport --no-eval img python": "",
	} {
		out, err := decide(t, line, "PMI_RANK=0", "MPI_LOCALNRANKS=1")
		if err != nil || (want == "") != (out.Note == "") || !strings.Contains(out.Note, want) {
			t.Errorf("%s: %q %v", line, out.Note, err)
		}
	}
}

func TestRanksThatDoNotSeeEachOtherStartPlainly(t *testing.T) {
	for line, isolated := range map[string]bool{
		"exec --mpiimport --pid img python": true, "exec --mpiimport -C img python": true, "exec --mpiimport --compat img python": true,
		"exec --mpiimport --compat --no-pid img python": false, "exec --mpiimport img python": false,
	} {
		for ranks, several := range map[string]bool{"OMPI_COMM_WORLD_LOCAL_SIZE=2": true, "X=": true, "OMPI_COMM_WORLD_LOCAL_SIZE=1": false} {
			out, err := decide(t, line, "OMPI_COMM_WORLD_RANK=0", ranks)
			plain := strings.Contains(out.Note, "takes one for another") && !strings.Contains(strings.Join(out.Args, " "), "--bind")
			if err != nil || plain != (isolated && several) {
				t.Errorf("%s with %s: %q %q %v", line, ranks, out.Args, out.Note, err)
			}
		}
	}
}

func TestTheRuntimeItselfStartsTheRanksPython(t *testing.T) {
	const script = "-S /.mpiimport/lib/mpiimport/start.py "
	for line, want := range map[string]string{
		"exec img /usr/bin/python3 -u a.py b": "/usr/bin/python3 -u " + script + "a.py b",
		"exec img python -S a.py":             "python -S " + script + "a.py",
		"exec img python -i a.py":             "python -i a.py",
		"exec img bash a.sh":                  "bash a.sh",
		"exec -e img python a.py":             entryWords + "python a.py",
		"exec --no-eval img python a.py":      entryWords + "python a.py",
		"exec --pid img python a.py":          entryWords + "python a.py",
	} {
		out, err := decide(t, line, "MPIIMPORT=1", "PMI_RANK=3", "MPI_LOCALNRANKS=1")
		direct := !strings.Contains(want, entryWords)
		if got := strings.Join(out.Args, " "); err != nil || !strings.HasSuffix(got, " img "+strings.TrimSpace(want)) {
			t.Errorf("%s: %s %v", line, got, err)
		}
		pid, _ := environ.Get(out.Env, "APPTAINERENV__MPIIMPORT_PID")
		how, _ := environ.Get(out.Env, "APPTAINERENV__MPIIMPORT_START")
		if (pid == "$$") != direct || strings.HasPrefix(how, "early") != strings.Contains(want, script) {
			t.Errorf("%s: pid %q, start %q", line, pid, how)
		}
	}
	for _, variable := range []string{"MPIIMPORT_REPORT=r", "_MPIIMPORT_PID=7", "_MPIIMPORT_START=early", "MPIIMPORT_RANK_VARIABLES=A:B:C"} {
		out, _ := decide(t, "exec img python a.py", "MPIIMPORT=1", "PMI_RANK=3", variable)
		if !strings.Contains(strings.Join(out.Args, " "), entryWords) {
			t.Errorf("%s: %q", variable, out.Args)
		}
	}
}

func TestAProfilesRuntimeOptionsStandBeforeTheCallers(t *testing.T) {
	config := profileDirectory(t, "site", "container: {options: [--cleanenv, --home=/work]}\n")
	const bind, options = " --bind /p:/.mpiimport:ro", " --cleanenv --home=/work"
	for line, want := range map[string]string{
		"exec --mpiimport=site img python a.py":                            "exec" + bind + options + " img" + entryWords + "python a.py",
		"exec --nv --home=/mine --mpiimport=site img python":               "exec" + bind + options + " --nv --home=/mine img" + entryWords + "python",
		"exec --mpiimport=site" + options + " img" + entryWords + "python": "exec" + bind + options + " img" + entryWords + "python",
		"shell --mpiimport=site -- img":                                    "shell" + bind + options + " -- img",
	} {
		out, err := decide(t, line, "XDG_CONFIG_HOME="+config, "LD_LIBRARY_PATH=/h", "PYTHONPATH=/h")
		if got := strings.Join(out.Args, " "); err != nil || got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%s:\ngot  %s\nwant %s\n%v", line, got, want, err)
		}
	}
	// The options count as if the caller had given them.
	out, _ := decide(t, "shell --mpiimport=site img", "XDG_CONFIG_HOME="+config, "PYTHONPATH=/h")
	if got, _ := environ.Get(out.Env, "APPTAINERENV_PYTHONPATH"); strings.Contains(got, "/h") {
		t.Errorf("with a clean environment PYTHONPATH is %q", got)
	}
}

func TestAProfilesRuntimeOptionThatDoesNotFitLeavesTheCallUnchanged(t *testing.T) {
	for option, why := range map[string]string{
		"--writable": "--writable-tmpfs", "--unheard-of": "--unheard-of", "--bind": "write --bind=VALUE", "--nv=x": "neither true nor false", "--help": "no container starts",
	} {
		config := profileDirectory(t, "site", "container: {options: ["+option+"]}\n")
		out, err := decide(t, "exec --mpiimport=site img python", "XDG_CONFIG_HOME="+config)
		if err != nil || strings.Join(out.Args, " ") != "exec img python" || !strings.Contains(out.Note, why) || !strings.Contains(out.Note, "profile site") {
			t.Errorf("%s: %q, %q, %v", option, out.Args, out.Note, err)
		}
	}
}
