package entry

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func start(command string, env ...string) (string, []string) {
	got, out := Start(strings.Fields(command), Process{Prefix: "/.mpiimport", Pid: 42, Env: env})
	return strings.Join(got, " "), out
}

func TestHowCommandsStart(t *testing.T) {
	const early = "-S /.mpiimport/lib/mpiimport/start.py "
	for name, c := range map[string]struct {
		command string
		env     []string
		want    string
		wantEnv []string
	}{
		"switched off": {"python app.py", []string{"MPIIMPORT=0", "PMI_RANK=0"}, "python app.py", []string{"MPIIMPORT=0", "PMI_RANK=0"}},
		"not asked":    {"python app.py", []string{"PMI_RANK=0"}, "python app.py", []string{"PMI_RANK=0"}},
		"a rank's python": {"python -u app.py a", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python -u " + early + "app.py a",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"a snapshot is to be made": {"python3 app.py -a", []string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot"}, "/.mpiimport/bin/python-mpi --python python3 app.py -a",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"that of a module": {"python -m app", []string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot"}, "/.mpiimport/bin/python-mpi --python python -m app",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"one with options": {"python -u app.py", []string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot"}, "/.mpiimport/bin/python-mpi --python python --option -u app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"other options, with which there are no snapshots": {"python -W error -u app.py", []string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot"}, "python -W error -u " + early + "app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "MPIIMPORT_FILL=snapshot", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"that of what is no rank": {"python3 app.py", []string{"MPIIMPORT=1", "MPIIMPORT_FILL=snapshot"}, "/.mpiimport/bin/python-mpi --python python3 app.py",
			[]string{"MPIIMPORT=1", "MPIIMPORT_FILL=snapshot", "_MPIIMPORT_START=early"}},
		"what is no rank, with options": {"python3 -u app.py", []string{"MPIIMPORT=1", "MPIIMPORT_FILL=snapshot"}, "/.mpiimport/bin/python-mpi --python python3 --option -u app.py",
			[]string{"MPIIMPORT=1", "MPIIMPORT_FILL=snapshot", "_MPIIMPORT_START=early"}},
		"what is no rank": {"python3 app.py", []string{"MPIIMPORT=1", "MPIIMPORT_CACHE=auto"}, "python3 app.py",
			[]string{"MPIIMPORT=1", "MPIIMPORT_CACHE=auto", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"by its path": {"/usr/bin/python3.11 -m mod", []string{"MPIIMPORT=force", "OMPI_COMM_WORLD_RANK=1"}, "/usr/bin/python3.11 " + early + "-m mod",
			[]string{"MPIIMPORT=force", "OMPI_COMM_WORLD_RANK=1", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"free-threaded": {"python3.14t app.py", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python3.14t " + early + "app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"without site": {"python3 -S app.py", []string{"MPIIMPORT=1", "PALS_RANKID=0"}, "python3 -S " + early + "app.py",
			[]string{"MPIIMPORT=1", "PALS_RANKID=0", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early-nosite"}},
		"python -i": {"python -i app.py", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python -i app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "_MPIIMPORT_PID=42", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"PYTHONINSPECT": {"python app.py", []string{"MPIIMPORT=1", "PMI_RANK=0", "PYTHONINSPECT=1"}, "python app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "PYTHONINSPECT=1", "_MPIIMPORT_PID=42", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"another program": {"bash -c x", []string{"MPIIMPORT=1", "PMIX_RANK=0", "PYTHONPATH=/u"}, "bash -c x",
			[]string{"MPIIMPORT=1", "PMIX_RANK=0", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath:/u", "_MPIIMPORT_PID=42"}},
		"an old python": {"python3.9 app.py", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python3.9 app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "_MPIIMPORT_PID=42", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"another python": {"python3.11-config x", []string{"MPIIMPORT=1", "PMI_RANK=0"}, "python3.11-config x",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "_MPIIMPORT_PID=42", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"no rank, an outer entry's leftovers": {"mpirun -n 4 python app.py", []string{"MPIIMPORT=1", "_MPIIMPORT_PID=7", "_MPIIMPORT_START=early"}, "mpirun -n 4 python app.py",
			[]string{"MPIIMPORT=1", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"a rank's python that starts early already": {"python -S /.mpiimport/lib/mpiimport/start.py app.py", []string{"MPIIMPORT=1", "PMI_RANK=0", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}, "python " + early + "app.py",
			[]string{"MPIIMPORT=1", "PMI_RANK=0", "_MPIIMPORT_PID=42", "_MPIIMPORT_START=early"}},
		"twice": {"sh x", []string{"MPIIMPORT=1", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath:/u"}, "sh x", []string{"MPIIMPORT=1", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath:/u"}},
		"removed variables": {"sh x", []string{"MPIIMPORT=1", "A=", "B=1", "_MPIIMPORT_UNSET=A:C"}, "sh x",
			[]string{"MPIIMPORT=1", "B=1", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"of those what the caller hands in stays": {"sh x", []string{"MPIIMPORT=1", "A=", "B=1", "_MPIIMPORT_UNSET=A:B"}, "sh x",
			[]string{"MPIIMPORT=1", "B=1", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
		"an entry without a name": {"sh x", []string{"MPIIMPORT=1", "=C:=x", "="}, "sh x",
			[]string{"MPIIMPORT=1", "=C:=x", "=", "PYTHONPATH=/.mpiimport/lib/mpiimport/pythonpath"}},
	} {
		got, env := start(c.command, c.env...)
		if got != c.want || !reflect.DeepEqual(env, c.wantEnv) {
			t.Errorf("%s:\n got %q %q\nwant %q %q", name, got, env, c.want, c.wantEnv)
		}
	}
}

func TestAnImagesOwnProfileIsAppliedOnce(t *testing.T) {
	config := t.TempDir()
	profiles := filepath.Join(config, "mpiimport", "profiles")
	if err := errors.Join(os.MkdirAll(profiles, 0o755), os.WriteFile(filepath.Join(profiles, "default.yaml"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  string
		want string
	}{
		{"MPIIMPORT=1 MPIIMPORT_PROFILE=site", "/.mpiimport/bin/mpiimport-plan apply -- python app.py"},
		{"MPIIMPORT=1 MPIIMPORT_PROFILE=site _MPIIMPORT_APPLIED=site", ""},
		{"MPIIMPORT=0 MPIIMPORT_PROFILE=site", ""},
		{"MPIIMPORT_PROFILE=site", ""},
		{"MPIIMPORT=1", ""},
		{"MPIIMPORT=1 HOME=/dev/null", ""},
		{"MPIIMPORT=1 XDG_CONFIG_HOME=" + config, "/.mpiimport/bin/mpiimport-plan apply -- python app.py"},
		{"MPIIMPORT=1 _MPIIMPORT_APPLIED=site XDG_CONFIG_HOME=" + config, ""},
		{"MPIIMPORT=0 XDG_CONFIG_HOME=" + config, ""},
	} {
		got := Profiled([]string{"python", "app.py"}, Process{Prefix: "/.mpiimport", Env: strings.Fields(c.env)})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", c.env, got)
		}
	}
}

// asCommand is the variable that makes this test's program one that executes what it holds.
const asCommand = "ENTRY_TEST_COMMAND"

func TestTheRuntimesNameOfACommand(t *testing.T) {
	here := t.TempDir()
	for _, directory := range []string{"bin", "sub"} {
		if err := os.Mkdir(filepath.Join(here, directory), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, mode := range map[string]os.FileMode{"tool": 0o755, "bin/tool": 0o755, "bin/data": 0o644, "sub/data": 0o755} {
		if err := os.WriteFile(filepath.Join(here, file), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"./tool": here + "/tool", "sub/../tool": here + "/tool", here + "//sub/../tool": here + "//sub/../tool", "tool": here + "/bin/tool",
		"data": here + "/sub/data", "none": "none", "./none": here + "/none", "": "",
	} {
		got := Named([]string{command, "a"}, []string{"PATH=/none:bin/:" + here + "/./sub", "PWD=" + here})
		if got[0] != want || got[1] != "a" {
			t.Errorf("%s is called %q, not %s", command, got, want)
		}
	}
}

func TestMain(m *testing.M) {
	command, ok := os.LookupEnv(asCommand)
	if !ok {
		os.Exit(m.Run())
	}
	var refused NotStarted
	errors.As(Execute([]string{command}, os.Environ()), &refused)
	os.Exit(refused.Status)
}

func TestCommandsThatCannotStartFailAsInAShell(t *testing.T) {
	directory := t.TempDir()
	for name, mode := range map[string]os.FileMode{"good": 0o755, "text": 0o644, "lost": 0o755, "bare": 0o755} {
		content := map[string]string{"lost": "#!/nowhere/sh\n", "bare": "exit 0\n"}[name]
		if content == "" {
			content = "#!/bin/sh\n"
		}
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]int{
		"good": 0, "bare": 0, "text": 126, "lost": 127, "none": 127, "": 127,
		directory + "/good": 0, directory + "/bare": 0, directory + "/text": 126, directory + "/none": 127, directory: 126,
	} {
		program := exec.Command("/proc/self/exe")
		program.Env = []string{"PATH=/nowhere:" + directory, asCommand + "=" + command}
		_ = program.Run()
		if got := program.ProcessState.ExitCode(); got != want {
			t.Errorf("%q: %d, want %d", command, got, want)
		}
	}
}
