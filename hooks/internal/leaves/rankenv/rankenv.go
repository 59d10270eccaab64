// Package rankenv knows the variables by which a launcher tells a process that it is an MPI rank.
package rankenv

import (
	_ "embed"
	"strconv"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// The list is a file of its own because the Python runtime has it, too, and a test compares the two.
//
//go:embed rank_variables.txt
var list string

// Variables returns the names to look for in env: the one that the option names for a launcher not known here,
// then one per launcher family.
func Variables(env []string) []string {
	option, _ := environ.Get(env, ourvars.RankVariables)
	return append(strings.Fields(strings.Split(option, ":")[0]), strings.Fields(list)...)
}

// IsRank says whether the environment belongs to an MPI rank, and not to what that has started.
func IsRank(env []string) bool {
	if _, ok := environ.Get(env, ourvars.OfRank); ok {
		return false
	}
	for _, name := range Variables(env) {
		if value, ok := environ.Get(env, name); ok && value != "" {
			return true
		}
	}
	return false
}

// SpeaksForJob says whether a message should be printed here: by rank 0, or by a process that is no rank,
// so that a job of thousands of ranks says it once.
func SpeaksForJob(env []string) bool {
	for _, name := range Variables(env) {
		// A local rank is 0 once on every node; the others number the whole job.
		if name == "MPI_LOCALRANKID" {
			continue
		}
		if value, ok := environ.Get(env, name); ok && value != "" {
			return value == "0"
		}
	}
	return true
}

// IsOneNode says whether all ranks of the job are on this node, as far as the launcher says.
func IsOneNode(env []string) bool {
	size := number(env, sizes...)
	return size > 0 && size == LocalRanks(env)
}

// sizes are the variables that tell the number of ranks. The last is that of a step of Slurm, which may have started a
// launcher with ranks of its own.
var sizes = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PALS_SIZE", "SLURM_STEP_NUM_TASKS"}

// LocalRanks returns how many ranks of the job are on this node, 0 where the launcher does not say.
func LocalRanks(env []string) int {
	ranks, size := number(env, "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE"), number(env, sizes...)
	if ranks == 0 && number(env, "SLURM_STEP_NUM_NODES") == 1 && number(env, "SLURM_STEP_NUM_TASKS") == size {
		return size
	}
	return ranks
}

// number returns what the first of these variables says that says a number, 0 where none does.
func number(env []string, names ...string) int {
	for _, name := range names {
		value, _ := environ.Get(env, name)
		if said, err := strconv.Atoi(value); err == nil {
			return said
		}
	}
	return 0
}
