// Package shim decides what a call of singularity or apptainer becomes: the same call, or one with mounts,
// environment and the entry binary.
package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/apptainercli"
	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/internal/nodecontainer"
	"mpiimport.org/hooks/internal/rankenv"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// Call is one call of the shim.
type Call struct {
	Args    []string // without the program's name
	Env     []string
	Prefix  string // where mpiimport is installed
	Flavour string // of the real runtime
	NoBinds bool   // whether that runtime refuses binds
	Root    bool   // whether root calls
}

// Outcome is what to execute. Note says why acceleration that was asked for was not applied. Container is set where
// the ranks of a node are to share one; Args then starts a container for this process alone.
type Outcome struct {
	Args      []string
	Env       []string
	Note      string
	Container *nodecontainer.Commands
}

// Decide returns what to execute. An error means that nothing may start.
func Decide(c Call) (Outcome, error) {
	line := apptainercli.Parse(c.Args)
	same := Outcome{Args: line.WithoutFlag(), Env: c.Env}
	wanted, odd := wants(line, c.Env)
	if odd != "" {
		same.Note = c.note(odd)
	}
	if !wanted {
		return same, nil
	}
	reason := unsuited(line, c.Env)
	if reason == "" && c.NoBinds {
		reason = "the runtime's configuration has `user bind control = no`; only the site can change that, then run `mpiimport-plan record`"
	}
	if reason != "" {
		if reason != silently {
			same.Note = c.note(reason)
		}
		return same, nil
	}
	return c.accelerate(line)
}

// wants says whether acceleration is asked for: MPIIMPORT=0 beats the flag, the flag beats everything else.
func wants(line apptainercli.Line, env []string) (bool, string) {
	mode, _ := environ.Get(env, handover.Mode)
	switch mode {
	case "0":
		return false, ""
	case "", "1", "force":
		return line.Asked || (mode != "" && apptainercli.Accelerated(line.Action)), ""
	}
	if line.Asked {
		return true, ""
	}
	return false, fmt.Sprintf("MPIIMPORT=%s is none of 0, 1, force", mode)
}

// silently marks a call that starts no container.
const silently = "-"

func unsuited(line apptainercli.Line, env []string) string {
	command := line.Command()
	switch {
	case line.Has("help"):
		return silently
	case line.Doubt != "":
		return line.Doubt
	case line.Image() == "":
		return silently
	case line.Action == "exec" && len(command) == 0:
		return silently
	case line.Action == "exec" && strings.HasPrefix(command[0], "-"):
		return "the command begins with a hyphen"
	case strings.HasPrefix(line.Image(), "instance://"):
		return "a running instance takes no new mounts; name the image itself"
	case line.On("writable", env):
		return "with --writable nothing can be mounted where the image has no directory; use --writable-tmpfs"
	case line.Has("dmtcp-launch"), line.Has("dmtcp-restart"):
		return "checkpointing owns the command line"
	case line.On("vm", env), line.On("boot", env):
		return "the command runs in another machine or under an init"
	}
	return ""
}

func (c Call) accelerate(line apptainercli.Line) (Outcome, error) {
	name := line.Profile
	if name == "" {
		name, _ = environ.Get(c.Env, handover.Profile)
	}
	chosen, err := profile.Load(name, profile.Directories(c.Prefix, c.Env))
	if err != nil {
		return Outcome{}, err
	}
	same := line
	line = line.Adding(chosen.Container.Options)
	if reason := unsuited(line, c.Env); reason != "" {
		reason += " (among container.options of the profile " + chosen.Name + ")"
		return Outcome{Args: same.WithoutFlag(), Env: c.Env, Note: c.note(reason)}, nil
	}
	request := launch.Request{
		Prefix:        c.Prefix,
		UserNamespace: !c.Root || line.On("userns", c.Env) || line.On("fakeroot", c.Env),
		Environ:       c.Env,
		Exists:        exists,
		Glob:          filepath.Glob,
	}
	// `run` keeps its own way: what the image's run script is, and who interprets it, only the runtime knows.
	if line.Action == "exec" {
		request.Command = line.Command()
	}
	plan, err := launch.Resolve(chosen, request)
	if err != nil {
		return Outcome{}, err
	}
	binds := []string{}
	for _, m := range plan.Mounts {
		binds = append(binds, m.Bind())
	}
	compat := line.On("compat", c.Env) || line.On("oci", c.Env)
	env, skipped := plan.ContainerEnvironment(c.Env, launch.Runtime{
		Flavour:  c.Flavour,
		CleanEnv: compat || line.On("cleanenv", c.Env) || line.On("containall", c.Env),
		NoEval:   compat || line.On("no-eval", c.Env),
	})
	out := Outcome{Args: line.Edit(binds, plan.Entry), Env: env}
	if len(skipped) > 0 {
		out.Note = c.note(fmt.Sprintf("%s cannot be extended without shell evaluation; leave out --no-eval and --compat, or use exec",
			strings.Join(skipped, ", ")))
	}
	if plan.PerNode && nodecontainer.Pays(c.Env) {
		commands, reason := nodecontainer.Split(line, binds, plan.Entry, c.Env)
		if reason == "" {
			out.Container = &commands
		} else {
			out.Note = SharesNone(c.Env, reason)
		}
	}
	if line.Action == "run" && rankenv.IsRank(c.Env) && hasInit(line, c.Env) {
		out.Note = c.note("in a PID namespace the runtime does not become the run script, so no process can be named; use exec")
	}
	return out, nil
}

// hasInit says whether the runtime stays in the container as an init and starts the command as its child.
func hasInit(line apptainercli.Line, env []string) bool {
	if line.On("no-init", env) || line.On("compat", env) {
		return false
	}
	return line.On("pid", env) || line.On("containall", env) || line.Has("fusemount")
}

// note is printed by one process of a job.
func (c Call) note(reason string) string {
	if !rankenv.SpeaksForJob(c.Env) {
		return ""
	}
	return "mpiimport: not accelerated: " + reason
}

// SharesNone says why the ranks of a node have a container each, by one process of a job.
func SharesNone(env []string, reason string) string {
	if !rankenv.SpeaksForJob(env) {
		return ""
	}
	return "mpiimport: no container is shared by the ranks of a node: " + reason
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
