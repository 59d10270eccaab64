package firstprocess

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The test binary itself stays in front of the command that its variable names.
func TestMain(m *testing.M) {
	if command := os.Getenv("FIRST_PROCESS"); command != "" {
		status, err := Run("/bin/sh", []string{"sh", "-c", command}, os.Environ())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(status)
	}
	os.Exit(m.Run())
}

func first(t *testing.T, command string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := exec.Command(self)
	first.Env = append(os.Environ(), "FIRST_PROCESS="+command)
	first.Stderr = os.Stderr
	return first
}

func TestItEndsAsTheCommandEnded(t *testing.T) {
	for command, want := range map[string]int{"true": 0, "exit 37": 37, "kill -KILL $$": 137, "kill -TERM $$": 143} {
		run := first(t, command)
		_ = run.Run()
		if got := run.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: status %d, want %d", command, got, want)
		}
	}
}

func TestTheCommandReadsStandardInput(t *testing.T) {
	run := first(t, "cat")
	run.Stdin = strings.NewReader("text")
	if output, err := run.Output(); err != nil || string(output) != "text" {
		t.Errorf("%q %v", output, err)
	}
}

func TestEverySignalReachesTheCommand(t *testing.T) {
	run := first(t, `for s in HUP INT QUIT USR1 USR2 TERM WINCH PIPE ALRM IO PWR TSTP TTIN CONT; do trap "echo $s" $s; done
		trap "exit 9" XCPU; echo ready; while :; do sleep 0.01; done`)
	output, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	lines.Scan()
	for _, c := range []struct {
		name   string
		number syscall.Signal
	}{
		{"HUP", syscall.SIGHUP}, {"INT", syscall.SIGINT}, {"QUIT", syscall.SIGQUIT}, {"USR1", syscall.SIGUSR1},
		{"USR2", syscall.SIGUSR2}, {"TERM", syscall.SIGTERM}, {"WINCH", syscall.SIGWINCH}, {"PIPE", syscall.SIGPIPE},
		{"ALRM", syscall.SIGALRM}, {"IO", syscall.SIGIO}, {"PWR", syscall.SIGPWR}, {"TSTP", syscall.SIGTSTP},
		{"TTIN", syscall.SIGTTIN}, {"CONT", syscall.SIGCONT},
	} {
		if err := run.Process.Signal(c.number); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != c.name {
			t.Fatalf("%s arrived as %q", c.name, lines.Text())
		}
	}
	_ = run.Process.Signal(syscall.SIGXCPU)
	_ = run.Wait()
	if status := run.ProcessState.ExitCode(); status != 9 {
		t.Errorf("status %d", status)
	}
}

func TestOrphansComeToItAndAreReaped(t *testing.T) {
	run := first(t, `echo $PPID
		(sh -c 'echo $$; sleep 0.1; cut -d" " -f4 /proc/$$/stat; exit 3' &)
		sleep 0.4`)
	output, err := run.Output()
	words := strings.Fields(string(output))
	if err != nil || len(words) != 3 || words[2] != words[0] {
		t.Fatalf("first process, orphan, orphan's parent: %q %v", words, err)
	}
	if _, err := os.Stat("/proc/" + words[1]); err == nil {
		t.Error("the orphan is still there")
	}
}
