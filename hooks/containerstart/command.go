package containerstart

import (
	"slices"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/launch"
)

// start returns the whole command, and the plan with what it needs. Where the runtime itself can do what the entry binary
// would, the command stays as it is, or is the python that starts early: that saves a process, and the runtime names the
// program by its own rule.
func (c Call) start(plan launch.Plan, r launch.Runtime) ([]string, launch.Plan) {
	isRank := rankenv.IsRank(c.Env)
	if c.needsEntry(plan, r) || plan.BringsLibrary() && !isRank {
		return slices.Concat(c.entry(plan), c.Command), plan
	}
	env := environ.Set(c.Env, ourvars.Mode, "1")
	for _, v := range plan.Environment {
		if ourvars.IsOption(v.Name) {
			env = v.In(env)
		}
	}
	command, env := entry.Start(c.Command, entry.Process{Prefix: launch.Inside, Env: env, IsAhead: plan.BringsLibrary()})
	if how, early := environ.Get(env, ourvars.Start); early {
		if isRank {
			plan = plan.With(launch.Variable{Name: ourvars.Pid, Change: launch.Pid})
		}
		if command[0] == prefix.PythonMPI(launch.Inside) {
			command = slices.Insert(command, 1, entry.Absolute)
		}
		return command, plan.With(launch.Variable{Name: ourvars.Start, Value: how, Change: launch.Set})
	}
	if isLookedAt(env) {
		return slices.Concat(c.entry(plan), c.Command), plan
	}
	return c.Command, plan.With(launch.BySitecustomize(env)...)
}

// isLookedAt says whether the entry is to look at a command that is no python which starts early: at what would fill a store,
// or for `mpiimport run`, which is told of its containers.
func isLookedAt(env []string) bool {
	_, isTold := environ.Get(env, ourvars.Job)
	return ourvars.IsFilling(env) || isTold
}

// entry returns the words in front of the command. In --oci another program starts it, which leaves its name as it is.
func (c Call) entry(plan launch.Plan) []string {
	if len(plan.Entry) == 0 || c.On("oci") {
		return plan.Entry
	}
	return slices.Concat(plan.Entry, []string{entry.Absolute})
}

// needsEntry says whether the binary has more to do in the container than the runtime can, or whether too little is
// known of the environment there.
func (c Call) needsEntry(plan launch.Plan, r launch.Runtime) bool {
	if len(plan.Entry) == 0 || plan.PerNode || r.CleanEnv || r.NoEval || c.hasInit() && rankenv.IsRank(c.Env) {
		return true
	}
	// What the caller hands in beats what a plan can say of PYTHONPATH; behind fakeroot the process has another number.
	if c.Has("env") || c.Has("env-file") || c.On("fakeroot") {
		return true
	}
	for _, name := range []string{ourvars.Report, ourvars.RankVariables, ourvars.Start, ourvars.Pid} {
		if _, isSet := environ.Get(c.Env, name); isSet {
			return true
		}
	}
	return slices.ContainsFunc(plan.Environment, func(v launch.Variable) bool {
		return v.Change == launch.Unset || v.Name == ourvars.Inject || v.Name == ourvars.Report || v.Name == ourvars.RankVariables
	})
}
