package nodecontainer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// A start that takes longer than this has failed.
const startSeconds = 120

// Keeper starts and ends the container of one place.
type Keeper struct {
	Place   string
	Runtime string   // the real apptainer or singularity
	Start   []string // its words
	Env     []string
}

// Keep starts the container, writes down how that went, closes the descriptor whose lock others wait for, waits until
// the last rank has gone, and takes everything away.
func (k Keeper) Keep(started int) error {
	p := place(k.Place)
	state := ready
	if err := k.start(p); err != nil {
		state = err.Error()
	}
	if err := p.decide(state); err != nil {
		return err
	}
	if err := syscall.Close(started); err != nil {
		return err
	}
	sweep()
	ranks, err := p.lock("ranks", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	p.end()
	return syscall.Close(ranks)
}

// sweep ends what killed keepers of this user have left on this node.
func sweep() {
	found, _ := filepath.Glob(everyPlace())
	for _, path := range found {
		p := place(path)
		if p.isOurs() != nil {
			continue
		}
		ranks, err := p.lock("ranks", syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		// A keeper that is starting the instance has this one.
		if start, err := p.lock("start", syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			p.end()
			_ = syscall.Close(start)
		}
		_ = syscall.Close(ranks)
	}
}

// end stops the instance, if there is one, and removes the place. The caller has locked the ranks out. A place whose
// instance does not end stays for the next sweep.
func (p place) end() {
	runtime, err := regularfile.Read(p.at("runtime"))
	if err == nil && !p.stop(string(runtime)) {
		return
	}
	p.remove()
}

// stop tells whether no instance is left.
func (p place) stop(runtime string) bool {
	for range 3 {
		_, _ = p.run(runtime, os.Environ(), "instance", "stop", p.name())
		if left, err := p.instances(runtime, os.Environ()); err == nil && len(left) == 0 {
			return true
		}
	}
	return false
}

func (k Keeper) start(p place) error {
	if err := os.Mkdir(p.at("configuration"), 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	if err := os.WriteFile(p.at("runtime"), []byte(k.Runtime), 0o600); err != nil {
		return err
	}
	settings, err := k.settings(p)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.at("settings"), []byte(settings), 0o600); err != nil {
		return err
	}
	// With the way to systemd open, the runtimes move instance and ranks into control groups of their own, out of
	// the launcher's.
	env := environ.Unset(environ.Unset(k.Env, "XDG_RUNTIME_DIR"), "DBUS_SESSION_BUS_ADDRESS")
	if _, err := p.run(k.Runtime, env, append([]string{"--config", p.at("settings")}, k.Start...)...); err != nil {
		return err
	}
	return k.check(p)
}

// settings returns the runtime's configuration without PID namespaces. An instance would get one, and MPI libraries
// on one node do not reach each other across them: ranks of another image, or without one, must still be reached.
func (k Keeper) settings(p place) (string, error) {
	output, err := p.run(k.Runtime, k.Env, "buildcfg")
	if err != nil {
		return "", err
	}
	file := regexp.MustCompile(`(?m)^(?:APPTAINER|SINGULARITY)_CONF_FILE=(.*)$`).FindStringSubmatch(output)
	if file == nil {
		return "", fmt.Errorf("%s buildcfg does not name its configuration file", k.Runtime)
	}
	content, err := regularfile.Read(file[1])
	if err != nil {
		return "", err
	}
	pidNamespace := regexp.MustCompile(`(?m)^[ \t]*allow pid ns[ \t]*=.*$`)
	return pidNamespace.ReplaceAllString(string(content), "") + "\nallow pid ns = no\n", nil
}

// instances returns the process ids of the place's instance, one or none.
func (p place) instances(runtime string, env []string) ([]int, error) {
	output, err := p.run(runtime, env, "instance", "list", "--json", p.name())
	if err != nil {
		return nil, err
	}
	var list struct {
		Instances []struct {
			Pid int `json:"pid"`
		} `json:"instances"`
	}
	if err := json.Unmarshal([]byte(output), &list); err != nil {
		return nil, fmt.Errorf("%s instance list --json is not understood: %w", runtime, err)
	}
	pids := []int{}
	for _, instance := range list.Instances {
		pids = append(pids, instance.Pid)
	}
	return pids, nil
}

// check looks whether the instance is there and in our PID namespace.
func (k Keeper) check(p place) error {
	found, err := p.instances(k.Runtime, k.Env)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%s has started no instance", k.Runtime)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", found[0]))
	if err != nil {
		return err
	}
	pids := regexp.MustCompile(`(?m)^NSpid:(.*)$`).FindStringSubmatch(string(status))
	if pids == nil || len(strings.Fields(pids[1])) != 1 {
		return fmt.Errorf("%s has put the instance into a PID namespace; the site can set `allow pid ns = no` in its configuration", k.Runtime)
	}
	return nil
}

// run executes the runtime to its end and returns its stdout. Output goes through files, for an instance keeps the
// descriptors it is started with.
func (p place) run(runtime string, env []string, words ...string) (string, error) {
	limit, cancel := context.WithTimeout(context.Background(), startSeconds*time.Second)
	defer cancel()
	said, err := os.Create(p.at("stdout"))
	if err != nil {
		return "", err
	}
	defer func() { _ = said.Close() }()
	trouble, err := os.Create(p.at("stderr"))
	if err != nil {
		return "", err
	}
	defer func() { _ = trouble.Close() }()
	command := exec.CommandContext(limit, runtime, words...)
	command.Env = withConfiguration(env, p.at("configuration"))
	command.Stdout, command.Stderr = said, trouble
	failure := command.Run()
	if failure != nil {
		text, _ := regularfile.Read(p.at("stderr"))
		return "", fmt.Errorf("%s: %s (%w)", filepath.Base(runtime), complaint(string(text)), failure)
	}
	text, err := regularfile.Read(p.at("stdout"))
	return string(text), err
}

// complaint returns the line in which the runtimes say what was wrong: the first FATAL, for an ERROR before it tells of a
// consequence and a FATAL after it of the whole.
func complaint(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, level := range []string{"FATAL", "ERROR"} {
		for _, line := range lines {
			if strings.HasPrefix(line, level) {
				return strings.Join(strings.Fields(line), " ")
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
