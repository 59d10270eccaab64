package commands

import (
	"fmt"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// RunUsage is how `mpiimport run` is called.
const RunUsage = "usage: mpiimport run [--profile P] [--] LAUNCHER..., as in: mpiimport run -- srun -n 64 apptainer exec img.sif python app.py"

// Run resolves the profile once for all containers of a job and starts the launcher, with the shims ahead of the
// runtimes and the sitecustomize door for pythons of the host.
func (c Call) Run() (Outcome, error) {
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
	return toOtherNodes(job), nil
}

func (c Call) jobEnvironment(name, plan string) []string {
	env := environ.Unset(c.Env, ourvars.Plan)
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
	env = environ.PrependPath(env, "PATH", prefix.Shims(c.Prefix))
	return environ.PrependPath(env, "PYTHONPATH", prefix.SiteDirectory(c.Prefix))
}
