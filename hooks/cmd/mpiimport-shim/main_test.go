package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheRealRuntimeGetsThePlan(t *testing.T) {
	s := install(t, "")
	status, stderr, log := s.run(t, "singularity -q exec --mpiimport --nv img.sif python app.py", "KEPT=1")
	if status != 0 || stderr != "" {
		t.Errorf("%d %s", status, stderr)
	}
	for _, want := range []string{
		"argv: -q exec --bind " + s.prefix + ":/.mpiimport:ro --nv img.sif python app.py\n",
		"APPTAINERENV_MPIIMPORT=1\n", "SINGULARITYENV_MPIIMPORT=1\n", "APPTAINERENV_MPIIMPORT_PROFILE=default\n", "KEPT=1\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is missing in:\n%s", want, log)
		}
	}
}

func TestWithoutTheFlagNothingChanges(t *testing.T) {
	s := install(t, "")
	_, stderr, log := s.run(t, "apptainer exec img.sif python app.py")
	if stderr != "" || !strings.Contains(log, "argv: exec img.sif python app.py\n") || strings.Contains(log, "ENV_") {
		t.Errorf("%s%s", stderr, log)
	}
}

func TestTheVersionThatIsAskedForIsTheRuntimes(t *testing.T) {
	s := install(t, "")
	if _, _, log := s.run(t, "apptainer --version"); !strings.Contains(log, "argv: --version\n") {
		t.Error(log)
	}
}

func TestExitStatusAndSignalsAreTheRuntimes(t *testing.T) {
	s := install(t, "exit 37")
	if status, _, _ := s.run(t, "singularity exec --mpiimport img true"); status != 37 {
		t.Errorf("exit status %d", status)
	}
	s = install(t, "kill -USR1 $$")
	command := s.command("singularity exec --mpiimport img true")
	_ = command.Run()
	if status := command.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGUSR1 {
		t.Errorf("wait status %v", status)
	}
	s = install(t, `trap "exit 9" TERM; echo ready; while :; do sleep 0.02; done`)
	command = s.command("singularity exec --mpiimport img true")
	output, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	if _, err := output.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	must(t, command.Process.Signal(syscall.SIGTERM))
	_ = command.Wait()
	if status := command.ProcessState.ExitCode(); status != 9 {
		t.Errorf("a signal to the shim's pid ended in status %d", status)
	}
}

func TestResourceLimitsAreKept(t *testing.T) {
	s := install(t, "ulimit -Sn >> $LIMITS")
	limits := filepath.Join(t.TempDir(), "limits")
	shell := exec.Command("/bin/sh", "-c", "ulimit -Sn 77; exec singularity exec --mpiimport img true")
	shell.Env = []string{"PATH=" + s.path(), "HOME=/none", "LIMITS=" + limits}
	must(t, shell.Run())
	if got, _ := os.ReadFile(limits); string(got) != "77\n" {
		t.Errorf("the limit of open files became %q", got)
	}
}

func TestMistakesEndBeforeTheRuntimeStarts(t *testing.T) {
	s := install(t, "")
	broken := filepath.Join(s.prefix, "profiles", "broken.yaml")
	must(t, os.WriteFile(broken, []byte("schema_version: 1\nname: broken\ndescription: x\nmount: []\n"), 0o644))
	for line, want := range map[string]string{
		"singularity exec --mpiimport=broken img true": broken + `:4: the profile has no key "mount"; did you mean mounts?`,
		"singularity exec --mpiimport=broke img true":  "did you mean broken?",
	} {
		status, stderr, log := s.run(t, line)
		if status != 2 || !strings.Contains(stderr, want) || log != "" {
			t.Errorf("%s: %d %s%s", line, status, stderr, log)
		}
	}
}

// record writes what is known of one runtime.
func TestAnEnvironmentWithoutRoomForMoreIsLeftAlone(t *testing.T) {
	s := install(t, "")
	profile := "schema_version: 1\nname: site\ndescription: x\nenvironment: {keep: ['*']}\n"
	must(t, os.WriteFile(filepath.Join(s.prefix, "profiles", "site.yaml"), []byte(profile), 0o644))
	env := []string{}
	for i := range 60_000 {
		env = append(env, fmt.Sprintf("VARIABLE%d=%d", i, i))
	}
	status, stderr, log := s.run(t, "singularity exec --cleanenv --mpiimport=site img true", env...)
	if status != 0 || !strings.Contains(stderr, "no room") || !strings.Contains(log, "argv: exec --cleanenv img true\n") {
		t.Errorf("%d %s", status, stderr)
	}
}

func TestARealRuntimeBesideOurBinariesIsNoShim(t *testing.T) {
	s := install(t, "exit 5")
	real := filepath.Join(s.prefix, "bin", "apptainer")
	must(t, os.WriteFile(real, []byte("#!/bin/sh\nexit 4\n"), 0o755))
	command := s.command("apptainer exec --mpiimport img true")
	command.Env = append(command.Env, "PATH="+filepath.Join(s.prefix, "shim")+":"+filepath.Dir(real)+":/usr/bin:/bin")
	if _ = command.Run(); command.ProcessState.ExitCode() != 4 {
		t.Errorf("status %d", command.ProcessState.ExitCode())
	}
}

func TestTheShimNeverCallsItself(t *testing.T) {
	s := install(t, `exec singularity "$@"`)
	status, stderr, _ := s.run(t, "singularity exec --mpiimport img true")
	if status != 127 || !strings.Contains(stderr, "ahead of it on PATH") {
		t.Errorf("a script that comes back: %d %s", status, stderr)
	}
	// Two installations before the real one, and one that recorded a shim.
	first, second := install(t, "exit 3"), install(t, "")
	// As wheels have them, without links.
	shim := ""
	for _, s := range []site{first, second} {
		shim = filepath.Join(s.prefix, "shim", "singularity")
		must(t, os.Remove(shim))
		must(t, exec.Command("cp", filepath.Join(s.prefix, "bin", "mpiimport-shim"), shim).Run())
	}
	first.record(t, "runtimes:\n  "+shim+": {flavour: apptainer}\n")
	path := "PATH=" + filepath.Join(first.prefix, "shim") + ":" + filepath.Join(second.prefix, "shim") + ":" + first.real + ":/usr/bin:/bin"
	if status, stderr, _ := first.run(t, "singularity exec --mpiimport img true", path); status != 3 {
		t.Errorf("two installations: %d %s", status, stderr)
	}
}

func TestNoRuntimeIsAClearError(t *testing.T) {
	s := install(t, "")
	must(t, os.RemoveAll(s.real))
	status, stderr, _ := s.run(t, "singularity exec img true", "PATH="+filepath.Join(s.prefix, "shim"))
	if status != 127 || !strings.Contains(stderr, "no real singularity found") {
		t.Errorf("%d %s", status, stderr)
	}
}

func TestTheEntryBecomesTheCommand(t *testing.T) {
	s := install(t, "")
	for _, c := range []struct {
		env    []string
		words  []string
		status int
		want   string
	}{
		{[]string{"MPIIMPORT=1", "PMI_RANK=0"}, []string{"sh", "-c", `test "$_MPIIMPORT_PID" = $$ && echo $PYTHONPATH`}, 0, s.prefix + "/lib/mpiimport/pythonpath\n"},
		{[]string{"PMI_RANK=0"}, []string{"sh", "-c", `echo "$_MPIIMPORT_PID$PYTHONPATH"; exit 4`}, 4, "\n"},
		{[]string{"MPIIMPORT=1"}, []string{"no-such-command"}, 127, ""},
		{[]string{"MPIIMPORT=1"}, []string{"/etc/passwd"}, 126, ""},
		{nil, nil, 2, ""},
	} {
		entry := exec.Command(filepath.Join(s.prefix, "bin", "mpiimport-entry"), c.words...)
		entry.Env = append([]string{"PATH=/usr/bin:/bin"}, c.env...)
		output, _ := entry.Output()
		if entry.ProcessState.ExitCode() != c.status || string(output) != c.want {
			t.Errorf("%q: %d %q", c.words, entry.ProcessState.ExitCode(), output)
		}
	}
}

// recorded returns a site whose runtime has this configuration, and setuid programs.
