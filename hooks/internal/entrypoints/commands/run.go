package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/snapshotlibrary"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// RunUsage is how `mpiimport run` is called.
const RunUsage = "usage: mpiimport run [--profile P] [--session] [--] LAUNCHER..., as in: mpiimport run -- srun -n 64 apptainer exec img.sif python app.py"

// Run resolves the profile once for all containers of a job and starts the launcher, with the shims ahead of the
// runtimes and the sitecustomize for pythons of the host.
func (c Call) Run() (Outcome, error) {
	session := false
	c.Args, session = takeSession(c.Args)
	name, line, err := c.profile()
	if err != nil {
		return Outcome{}, err
	}
	if len(line) > 0 && line[0] == "--" {
		line = line[1:]
	} else if len(line) > 0 && strings.HasPrefix(line[0], "-") {
		return Outcome{}, fmt.Errorf("run has no option %s; %s", line[0], RunUsage)
	}
	if len(line) == 0 {
		return Outcome{}, fmt.Errorf("no launcher given; %s", RunUsage)
	}
	off, err := c.off()
	needsLauncher := strings.HasPrefix(line[0], "-")
	if err != nil || off && !needsLauncher {
		return Outcome{Args: line, Env: c.Env}, err
	}
	chosen, err := profile.Choose(name, c.Prefix, c.Env)
	if err != nil {
		return Outcome{}, err
	}
	if needsLauncher {
		launcher := chosen.Launcher.Prefix
		if len(launcher) == 0 {
			return Outcome{}, fmt.Errorf("the line begins with the option %s, and the profile %s has no launcher.prefix to put in front; name the launcher, as in: mpiimport run -- srun %s", line[0], chosen.Name, line[0])
		}
		line = slices.Concat(launcher, line)
	}
	if off {
		return Outcome{Args: line, Env: c.Env}, nil
	}
	_, facts := c.runtime()
	plan, err := launch.ForJob(chosen, name, c.request(!c.Root && !facts.Setuid, nil))
	if err != nil {
		return Outcome{}, err
	}
	job := Outcome{Args: line, Env: c.jobEnvironment(name, plan.Text)}
	if plan.Text != "" {
		// The starts that read the plan know no more of it.
		job.LeftOut = plan.LeftOut
	}
	if !session {
		job.Sending = c.sending(line, chosen.Profile)
	}
	if job.Sending != nil {
		// The value comes later; launchers must know the name.
		job.Env = environ.Set(job.Env, ourvars.Sent, "")
	}
	if !session && c.looks(line, chosen.Profile) {
		// The value comes later; launchers must know the name.
		job.Env = environ.Set(environ.Set(job.Env, ourvars.StoresValidated, ""), ourvars.Validated, "")
		return c.behind("validate", toOtherNodes(job)), nil
	}
	job = toOtherNodes(job)
	if session {
		return c.inSession(job, chosen.Profile)
	}
	return job, nil
}

// starters start all ranks of a job at once: one look at the tree counts for all of them.
var starters = []string{
	"aprun", "jsrun", "mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "mpirun", "mpirun.mpich", "mpirun.openmpi", "orterun", "oshrun", "prterun", "srun",
}

// StartsRanks says whether a line is that of a launcher which is known.
func StartsRanks(line []string) bool {
	place := launcherPlace(line)
	return place < len(line) && slices.Contains(starters, filepath.Base(line[place]))
}

// looks says whether cached stores and snapshots are looked at before the ranks start.
func (c Call) looks(line []string, p *profile.Profile) bool {
	if !StartsRanks(line) {
		return false
	}
	if _, err := os.Stat(prefix.HostPython(c.Prefix)); err != nil {
		// The ranks look for themselves.
		return false
	}
	options, err := launch.HostEnvironment(p, c.Env, false)
	return err == nil && (launch.Caches(options) || snapshotlibrary.MayHave(snapshotlibrary.Directory(c.Env), line))
}

// takeSession takes the option --session from those in front of the launcher.
func takeSession(args []string) ([]string, bool) {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--session":
			return slices.Concat(args[:i], args[i+1:]), true
		case args[i] == "--profile":
			i++
		case !strings.HasPrefix(args[i], "--profile="):
			return args, false
		}
	}
	return args, false
}

// inSession puts the program in front of a job that makes a place for stores and removes it when the job has ended.
func (c Call) inSession(job Outcome, p *profile.Profile) (Outcome, error) {
	// A profile may lock that nothing is kept.
	if _, err := launch.HostEnvironment(p, environ.Set(c.Env, ourvars.Cache, "auto"), false); err != nil {
		return Outcome{}, err
	}
	return c.behind("run", job), nil
}

// behind puts an action of `mpiimport session` in front of a job, which that becomes.
func (c Call) behind(action string, job Outcome) Outcome {
	front := []string{prefix.HostPython(c.Prefix), "-I", "-m", "mpiimport.host", "session", action, "--ignoring"}
	for _, s := range ignored.Signals() {
		front = append(front, strconv.Itoa(int(s.(syscall.Signal))))
	}
	job.Args = slices.Concat(front, []string{"--"}, job.Args)
	return job
}

func (c Call) jobEnvironment(name, plan string) []string {
	// Its value comes later; launchers must know the name.
	env := environ.Set(environ.Unset(c.Env, ourvars.Plan), ourvars.Job, "")
	if mode, _ := environ.Get(env, ourvars.Mode); mode == "" {
		env = environ.Set(env, ourvars.Mode, "1")
	}
	if name != "" {
		env = environ.Set(env, ourvars.Profile, name)
	}
	// Without it each start reads the profile.
	if plan != "" {
		env = environ.Set(env, ourvars.Plan, plan)
	}
	// Where there is none the C library has directories of its own.
	if path, _ := environ.Get(env, "PATH"); path != "" {
		env = environ.PrependPath(env, "PATH", prefix.Shims(c.Prefix))
	}
	return environ.PrependPath(env, "PYTHONPATH", prefix.SiteDirectory(c.Prefix))
}
