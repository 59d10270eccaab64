package nodecontainer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEverythingAContainerIsMadeFromIsInItsName(t *testing.T) {
	image := filepath.Join(t.TempDir(), "img")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start := []string{"instance", "start", "--bind=/a", image, ""}
	env := []string{"HOME=/h", "APPTAINER_BIND=/b", "PMI_RANK=0", "APPTAINERENV_A=0"}
	name := func(start, env []string) string {
		t.Helper()
		name, err := identity(start, env)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	same := name(start, env)
	if other := name(start, []string{"HOME=/h", "APPTAINER_BIND=/b", "PMI_RANK=1", "APPTAINERENV_A=1", "X=y"}); other != same {
		t.Error("what differs from rank to rank changes the name")
	}
	for what, other := range map[string]string{
		"bind":     name([]string{"instance", "start", "--bind=/c", image, ""}, env),
		"home":     name(start, []string{"HOME=/i", "APPTAINER_BIND=/b"}),
		"variable": name(start, []string{"HOME=/h", "APPTAINER_BIND=/c"}),
		"image of that name": func() string {
			if err := os.Chtimes(image, time.Time{}, time.Unix(1, 2)); err != nil {
				t.Fatal(err)
			}
			return name(start, env)
		}(),
	} {
		if other == same {
			t.Errorf("another %s is not told apart", what)
		}
	}
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chdir(back) }()
	if err := os.Chdir(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if name(start, env) == same {
		t.Error("another directory is not told apart")
	}
	if _, err := identity([]string{"instance", "start", image + ".none", ""}, env); err == nil {
		t.Error("an image that is not there has a name")
	}
}

// The launcher's daemon is this test; ranks are shells below it, as `mpiexec sh -c` makes them.
func TestTheLauncherIsTheNearestProcessThatIsNoRank(t *testing.T) {
	if os.Getenv("ASK") != "" {
		println(launcher())
		os.Exit(0)
	}
	ask := func(script string) string {
		command := exec.Command("/bin/sh", "-c", script, os.Args[0], "-test.run=TestTheLauncherIs")
		command.Env = []string{"ASK=1", "PMI_RANK=1"}
		output, _ := command.CombinedOutput()
		return string(output)
	}
	direct, nested := ask(`exec "$0" "$@"`), ask(`sh -c '"$0" "$@"; :' "$0" "$@"; :`)
	if direct == "" || direct != nested {
		t.Errorf("%q and %q", direct, nested)
	}
	if other := ask(`unset PMI_RANK; sh -c 'PMI_RANK=1 "$0" "$@"; :' "$0" "$@"; :`); other == direct || !strings.Contains(other, "since") {
		t.Errorf("another launcher is not told apart: %q", other)
	}
}

func TestNobodyElseCanTellTheNameBeforehand(t *testing.T) {
	secrets := map[string]bool{}
	for range 2 {
		launcher := exec.Command("sleep", "60")
		if err := launcher.Start(); err != nil {
			t.Fatal(err)
		}
		secrets[string(secret(launcher.Process.Pid))] = true
		if os.Geteuid() == 0 {
			other := exec.Command("cat", fmt.Sprintf("/proc/%d/auxv", launcher.Process.Pid))
			other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if output, err := other.Output(); err == nil || len(output) > 0 {
				t.Error("another user can read the secret")
			}
		}
		_ = launcher.Process.Kill()
		_ = launcher.Wait()
	}
	if len(secrets) != 2 || secrets[""] {
		t.Errorf("two launchers have one secret, or none: %d", len(secrets))
	}
	if !strings.Contains(launcher(), fmt.Sprintf("%x", secret(os.Getppid()))) {
		t.Error("the launcher's secret is not in the name")
	}
}
