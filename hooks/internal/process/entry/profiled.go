package entry

import (
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/profilefiles"
)

// Profiled returns the command that applies the profile which the environment names, or the one that is taken where it names
// none, and goes on as this package would. It returns nil where there is nothing to apply: somebody outside has done it,
// unless this is an image with mpiimport inside.
// Profiles are for a program of their own, because most starts need none and pay for what the binary holds.
func Profiled(command []string, p Process) []string {
	name, _ := environ.Get(p.Env, ourvars.Profile)
	applied, isApplied := environ.Get(p.Env, ourvars.Applied)
	_, injected := environ.Get(p.Env, ourvars.Inject)
	switch {
	case !off(p.Env) && injected:
		// The same program fits the host's MPI and the image together.
	case off(p.Env), isApplied && (name == "" || name == applied):
		return nil
	case name == "":
		// What cannot be looked for is named by the program that would read it.
		files, err := profilefiles.Unnamed(profilefiles.Directories(p.Prefix, p.Env))
		if len(files) == 0 && err == nil {
			return nil
		}
	}
	return append([]string{prefix.Plan(p.Prefix), "apply", "--"}, command...)
}
