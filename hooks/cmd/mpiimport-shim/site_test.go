package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var built string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == recorder {
		if err := recordCall(os.Args[0]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(func() int {
		directory, err := os.MkdirTemp("", "mpiimport-shim-test")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(directory)
		built = directory
		build := exec.Command("go", "build", "-o", directory, "../mpiimport-shim", "../mpiimport-entry", "../mpiimport-plan")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s%v\n", output, err)
			return 1
		}
		return m.Run()
	}())
}

// site is an installation of mpiimport with a fake runtime behind its shim.
type site struct {
	prefix, real, log string
}

// The fake records that it ran, what it got, and then does what the test wants.
const fake = `#!/bin/sh
{ echo "argv: $*"; env; } >> %s
%s
`

func install(t testing.TB, script string) site {
	t.Helper()
	root := t.TempDir()
	s := site{filepath.Join(root, "prefix"), filepath.Join(root, "real"), filepath.Join(root, "log")}
	for _, directory := range []string{"bin", "shim", "profiles", "etc"} {
		must(t, os.MkdirAll(filepath.Join(s.prefix, directory), 0o755))
	}
	must(t, os.Mkdir(s.real, 0o755))
	for _, name := range []string{"mpiimport-shim", "mpiimport-entry", "mpiimport-plan"} {
		must(t, os.Link(filepath.Join(built, name), filepath.Join(s.prefix, "bin", name)))
	}
	for _, name := range []string{"singularity", "apptainer"} {
		must(t, os.Symlink("../bin/mpiimport-shim", filepath.Join(s.prefix, "shim", name)))
		s.fake(t, name, script)
	}
	return s
}

func (s site) fake(t testing.TB, name, script string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.real, name), []byte(fmt.Sprintf(fake, s.log, script)), 0o755))
}

func (s site) path() string {
	return filepath.Join(s.prefix, "shim") + ":" + s.real + ":/usr/bin:/bin"
}

func (s site) command(line string, env ...string) *exec.Cmd {
	words := strings.Fields(line)
	command := exec.Command(filepath.Join(s.prefix, "shim", words[0]), words[1:]...)
	command.Env = append([]string{"PATH=" + s.path(), "HOME=/none"}, env...)
	return command
}

// run returns the exit status, stderr and what the fake runtime saw.
func (s site) run(t *testing.T, line string, env ...string) (int, string, string) {
	t.Helper()
	command := s.command(line, env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	err := command.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	log, _ := os.ReadFile(s.log)
	return command.ProcessState.ExitCode(), stderr.String(), string(log)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
