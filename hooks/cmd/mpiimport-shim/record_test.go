package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mpiimport.org/hooks/internal/leaves/prefix"
)

func (s site) record(t *testing.T, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.prefix, "etc", "launch.yaml"), []byte(text), 0o644))
}

func TestWhatPATHHasComesBeforeWhatWasRecorded(t *testing.T) {
	s := install(t, "exit 5")
	other := filepath.Join(t.TempDir(), "singularity")
	must(t, os.WriteFile(other, []byte("#!/bin/sh\nenv >&2; exit 6\n"), 0o755))
	s.record(t, "runtimes:\n  "+other+": {flavour: singularityce}\n")
	for _, off := range []string{"MPIIMPORT=1", "MPIIMPORT=0"} {
		if status, _, _ := s.run(t, "singularity exec img true", off); status != 5 {
			t.Errorf("%s: status %d", off, status)
		}
		status, stderr, _ := s.run(t, "singularity exec img true", off, "PATH="+filepath.Dir(other)+":"+s.path())
		if status != 6 || strings.Contains(stderr, "\nSINGULARITYENV_MPIIMPORT=1") != (off == "MPIIMPORT=1") || strings.Contains(stderr, "APPTAINERENV_") {
			t.Errorf("%s: %d %s", off, status, stderr)
		}
		// Where PATH has none, a recorded one does.
		if status, _, _ := s.run(t, "singularity exec img true", off, "PATH="+filepath.Join(s.prefix, "shim")+":/usr/bin:/bin"); status != 6 {
			t.Errorf("%s: recorded: status %d", off, status)
		}
	}
	must(t, os.Remove(other))
	if status, _, _ := s.run(t, "singularity exec --mpiimport img true"); status != 5 {
		t.Errorf("a recorded runtime that is gone: status %d", status)
	}
}

func TestARecordThatCannotBeReadEndsNoStart(t *testing.T) {
	s := install(t, "")
	for text, note := range map[string]string{
		"runtimes: {" + s.real + "/singularity: {flavour: apptainer, newer: yes}}\nnewer: [1]\n": "",
		"runtimes: {singularity: {path: /usr/bin/singularity, flavour: apptainer}}\n":            "",
		"runtimes: [1]\n": "launch.yaml", "{": "launch.yaml", "\x00": "launch.yaml", "a directory": "launch.yaml",
	} {
		file := prefix.LaunchFile(s.prefix)
		must(t, os.RemoveAll(file))
		if text == "a directory" {
			must(t, os.Mkdir(file, 0o755))
		} else {
			s.record(t, text)
		}
		for _, line := range []string{"singularity exec img true", "singularity exec --mpiimport img true"} {
			must(t, os.RemoveAll(s.log))
			status, stderr, log := s.run(t, line)
			asked := strings.Contains(line, "--mpiimport")
			if status != 0 || strings.Contains(log, "/.mpiimport:ro") != (asked && note == "") {
				t.Errorf("%q, %s: %d %s %s", text, line, status, stderr, log)
			}
			if (stderr != "") != (asked && note != "") || !strings.Contains(stderr, note) && asked || strings.Count(stderr, "\n") > 1 {
				t.Errorf("%q, %s: %s", text, line, stderr)
			}
		}
	}
}

func TestRecordFindsRuntimesAndTheirFlavour(t *testing.T) {
	s := install(t, "")
	s.fake(t, "singularity", `echo "singularity-ce version 4.1.1"`)
	must(t, os.Rename(filepath.Join(s.real, "apptainer"), filepath.Join(s.real, "kept")))
	must(t, os.Mkdir(filepath.Join(s.real, "x"), 0o755))
	must(t, os.Rename(filepath.Join(s.real, "kept"), filepath.Join(s.real, "x", "apptainer")))
	must(t, os.Symlink("x/apptainer", filepath.Join(s.real, "apptainer")))
	plan := exec.Command(filepath.Join(s.prefix, "bin", "mpiimport-plan"), "record")
	plan.Env = []string{"PATH=" + s.path()}
	output, err := plan.CombinedOutput()
	want := "singularity: " + s.real + "/singularity (singularityce)\napptainer: " + s.real + "/apptainer (apptainer)\n"
	if err != nil || string(output) != want {
		t.Errorf("%v %s", err, output)
	}
	if text, _ := os.ReadFile(filepath.Join(s.prefix, "etc", "launch.yaml")); strings.Contains(string(text), "no_binds") || !strings.Contains(string(text), "flavour: singularityce") {
		t.Errorf("%s", text)
	}
}

func recorded(t *testing.T, configuration string) site {
	t.Helper()
	directory := t.TempDir()
	file, starter := filepath.Join(directory, "apptainer.conf"), filepath.Join(directory, "apptainer", "bin", "starter-suid")
	s := install(t, `case $1 in
--version) echo "apptainer version 1.4.5";;
buildcfg) echo "APPTAINER_CONF_FILE=`+file+`"; echo "LIBEXECDIR=`+directory+`";;
esac`)
	must(t, os.WriteFile(file, []byte(configuration), 0o644))
	must(t, os.MkdirAll(filepath.Dir(starter), 0o755))
	must(t, os.WriteFile(starter, nil, 0o755))
	must(t, os.Chmod(starter, 0o755|os.ModeSetuid))
	plan := exec.Command(filepath.Join(s.prefix, "bin", "mpiimport-plan"), "record")
	plan.Env = []string{"PATH=" + s.path()}
	must(t, plan.Run())
	return s
}

func TestARuntimeThatTakesNoMountsIsLeftAlone(t *testing.T) {
	for configuration, why := range map[string]string{
		"# x\nuser bind control = no\n":                 "user bind control",
		"enable overlay = no\n enable underlay = no\n":  "enable underlay",
		"enable overlay = no\nenable underlay = yes\n":  "",
		"#enable overlay = no\nenable underlay = no\n ": "",
	} {
		s := recorded(t, configuration)
		status, stderr, log := s.run(t, "singularity exec --mpiimport img true")
		if status != 0 || !strings.Contains(stderr, why) || (stderr == "") != (why == "") || strings.Contains(log, "argv: exec img true\n") != (why != "") {
			t.Errorf("%q: %d %s%s", configuration, status, stderr, log)
		}
		// Another configuration counts where it is given.
		file := filepath.Join(t.TempDir(), "conf")
		must(t, os.WriteFile(file, []byte(configuration), 0o644))
		s = recorded(t, "")
		for _, line := range []string{"singularity --config " + file + " exec --mpiimport img true", "singularity -c=" + file + " exec --mpiimport img true"} {
			if status, stderr, _ := s.run(t, line); status != 0 || !strings.Contains(stderr, why) || (stderr == "") != (why == "") {
				t.Errorf("%s: %d %s", line, status, stderr)
			}
		}
	}
}

func TestASetuidRuntimeNeedsNoUserNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a file of root's with its setuid bit is needed")
	}
	for _, c := range []struct {
		configuration, options string
		namespace              bool
	}{
		{"", "", false}, {"allow setuid = yes", "", false}, {"allow setuid = no", "", true}, {"", "--userns ", true}, {"", "--fakeroot ", true},
	} {
		s := recorded(t, c.configuration)
		profile := "schema_version: 1\nname: site\ndescription: x\nuser_namespace: {environment: {set: {INSIDE: '1'}}}\n"
		must(t, os.WriteFile(filepath.Join(s.prefix, "profiles", "site.yaml"), []byte(profile), 0o644))
		must(t, os.WriteFile(s.log, nil, 0o666))
		must(t, os.Chmod(s.log, 0o666))
		for directory := s.prefix; directory != os.TempDir(); directory = filepath.Dir(directory) {
			must(t, os.Chmod(directory, 0o755))
		}
		command := s.command("singularity exec " + c.options + "--mpiimport=site img true")
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%+v: %v %s", c, err, output)
		}
		log, _ := os.ReadFile(s.log)
		if strings.Contains(string(log), "APPTAINERENV_INSIDE=1") != c.namespace {
			t.Errorf("%+v: %s", c, log)
		}
	}
}
