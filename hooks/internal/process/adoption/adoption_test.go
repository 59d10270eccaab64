package adoption

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { runtime.LockOSThread() }

// The test's own program stands for the shim and, started by a shell that stands for the runtime, for the entry.
func TestMain(m *testing.M) {
	switch os.Getenv("ROLE") {
	case "shim":
		err := Run([]string{"/bin/sh", "-c", os.Getenv("RUNTIME"), os.Args[0]}, os.Environ())
		fmt.Println(err)
		os.Exit(99)
	case "entry":
		env, err := Release(os.Environ())
		if err == nil {
			err = syscall.Exec("/bin/sh", []string{"sh", "-c", os.Getenv("COMMAND")}, env)
		}
		fmt.Println(err)
		os.Exit(98)
	}
	os.Exit(m.Run())
}

const entering = `ROLE=entry _MPIIMPORT_PARENT=$APPTAINERENV__MPIIMPORT_PARENT "$0"; exit $?`

func shim(runtime, command string) (*exec.Cmd, *strings.Builder) {
	said := &strings.Builder{}
	c := exec.Command(os.Args[0])
	c.Env = []string{"ROLE=shim", "RUNTIME=" + runtime, "COMMAND=" + command, "PATH=/usr/bin:/bin"}
	c.Stdout, c.Stderr = said, said
	return c, said
}

func TestItEndsAsTheCommandDoes(t *testing.T) {
	for command, want := range map[string]string{"exit 0": "<nil>", "exit 7": "exit status 7", "kill -TERM $$": "signal: terminated"} {
		c, said := shim(entering, command)
		if err := c.Run(); fmt.Sprint(err) != want {
			t.Errorf("%s: %v %s", command, err, said)
		}
	}
}

func TestTheCommandIsTheChildAndKnowsNothingOfIt(t *testing.T) {
	c, said := shim(entering, `echo $PPID; env | grep -c "^_MPIIMPORT_PARENT"; ls -l /proc/$$/fd | grep -c socket`)
	_ = c.Run()
	want := fmt.Sprintf("%d\n0\n0\n", c.Process.Pid)
	if said.String() != want {
		t.Errorf("%q, want %q", said, want)
	}
}

func TestSignalsReachTheCommand(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1} {
		ready := t.TempDir() + "/ready"
		c, _ := shim(entering, fmt.Sprintf("trap 'exit 9' %d; : >%s; while :; do sleep 0.02; done", s, ready))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { _, err := os.Stat(ready); return err == nil })
		_ = c.Process.Signal(s)
		if err := c.Wait(); fmt.Sprint(err) != "exit status 9" {
			t.Errorf("%v: %v", s, err)
		}
	}
}

func TestTheCommandDiesWithIt(t *testing.T) {
	pid := t.TempDir() + "/pid"
	c, _ := shim(entering, "echo $$ >"+pid+".new; mv "+pid+".new "+pid+"; exec sleep 60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, err := os.Stat(pid); return err == nil })
	_ = c.Process.Kill()
	_ = c.Wait()
	text, _ := os.ReadFile(pid)
	waitFor(t, func() bool {
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(status), ") Z ")
	})
}

func TestARuntimeThatStartsNothingIsTold(t *testing.T) {
	c, said := shim("exit 3", "exit 0")
	if err := c.Run(); fmt.Sprint(err) != "exit status 99" || said.String() != ErrNotStarted.Error()+"\n" {
		t.Errorf("%v %s", err, said)
	}
}

func waitFor(t *testing.T, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen in time")
		}
	}
}
