package entry

import (
	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/internal/prefix"
)

// Profiled returns the command that applies the profile which the environment names and goes on as this package would,
// where nobody outside has applied it: in an image with mpiimport inside. It returns nil where there is nothing to apply.
// Profiles are for a program of their own, because most starts need none and pay for what the binary holds.
func Profiled(command []string, p Process) []string {
	name, _ := environ.Get(p.Env, handover.Profile)
	applied, isApplied := environ.Get(p.Env, handover.Applied)
	if name == "" || off(p.Env) || (isApplied && applied == name) {
		return nil
	}
	return append([]string{prefix.Plan(p.Prefix), "apply", "--"}, command...)
}
