package containerstart

import (
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// families are the profiles of the MPIs that a launcher starts, by a variable that it sets for each rank. Hydra, Intel's and
// PALS start all that have MPICH's binary interface, PMIx starts any. An MPI takes no notice of what another needs.
var families = []struct {
	variables, profiles []string
}{
	{[]string{"OMPI_COMM_WORLD_RANK"}, []string{"openmpi"}},
	{[]string{"PMI_RANK", "MPI_LOCALRANKID", "PALS_RANKID"}, []string{"mpich", "intel"}},
	{[]string{"PMIX_RANK"}, []string{"openmpi", "mpich", "intel"}},
}

// fitting returns the profiles of the MPIs by which ranks of a node may copy from each other's memory where they are not
// allowed to: each in a container and a user namespace of its own.
func (c Call) fitting(plan launch.Plan) []string {
	// A site that brings its own MPI says what that needs.
	if !c.userNamespace() || plan.PerNode || plan.Inject != nil || c.On("sharens") || rankenv.LocalRanks(c.Env) == 1 {
		return nil
	}
	for _, family := range families {
		for _, variable := range family.variables {
			if value, _ := environ.Get(c.Env, variable); value != "" {
				return family.profiles
			}
		}
	}
	return nil
}

// amongNamespaces adds to a profile that nobody has named what such ranks need. The second result has a line for each profile
// that cannot be read.
func (c Call) amongNamespaces(shared launch.Shared) (launch.Shared, []string) {
	runtime, lines := c.runtime(), []string{}
	for _, name := range c.fitting(shared.Plan) {
		chosen, err := profile.Choose(name, c.Prefix, c.Env)
		if err != nil {
			lines = append(lines, profile.PassedOver(err))
			continue
		}
		shared = shared.Beside(name, runtime.IfUnset(launch.InUserNamespaceOnly(chosen.Profile), c.Env))
	}
	if !rankenv.SpeaksForJob(c.Env) {
		lines = nil
	}
	return shared, lines
}
