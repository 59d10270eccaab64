package containerstart

import (
	"slices"

	"mpiimport.org/hooks/internal/inside/entry"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/launch"
)

// start returns the whole command, and the plan with what it needs. Where the command is a python that starts early, the
// runtime itself can do what the entry binary would, which saves a process: it becomes the command and evaluates $$.
func (c Call) start(plan launch.Plan, r launch.Runtime) ([]string, launch.Plan) {
	if !c.needsEntry(plan, r) {
		env := environ.Set(c.Env, ourvars.Mode, "1")
		for _, v := range plan.Environment {
			if ourvars.IsOption(v.Name) {
				env = v.In(env)
			}
		}
		command, env := entry.Start(c.Command, entry.Process{Prefix: launch.Inside, Env: env})
		if how, early := environ.Get(env, ourvars.Start); early {
			if rankenv.IsRank(env) {
				plan = plan.With(launch.Variable{Name: ourvars.Pid, Change: launch.Pid})
			}
			return command, plan.With(launch.Variable{Name: ourvars.Start, Value: how, Change: launch.Set})
		}
	}
	return slices.Concat(plan.Entry, c.Command), plan
}

// needsEntry says whether the binary has more to do in the container than the runtime can, or whether too little is
// known of the environment there.
func (c Call) needsEntry(plan launch.Plan, r launch.Runtime) bool {
	if len(plan.Entry) == 0 || plan.PerNode || r.CleanEnv || r.NoEval || c.hasInit() {
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
