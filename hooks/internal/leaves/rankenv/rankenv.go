// Package rankenv knows the variables by which a launcher tells a process that it is an MPI rank.
package rankenv

import (
	_ "embed"
	"strconv"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// The list is a file of its own because the Python runtime has a twin of it and a test compares the two.
//
//go:embed rank_variables.txt
var list string

// Variables returns the names to look for in env: the one that the option names for a launcher not known here,
// then one per launcher family.
func Variables(env []string) []string {
	option, _ := environ.Get(env, ourvars.RankVariables)
	return append(strings.Fields(strings.Split(option, ":")[0]), strings.Fields(list)...)
}

// IsRank says whether the environment belongs to an MPI rank.
func IsRank(env []string) bool {
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
	ranks := LocalRanks(env)
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PALS_SIZE"} {
		value, _ := environ.Get(env, name)
		if size, err := strconv.Atoi(value); err == nil {
			return ranks == size
		}
	}
	return false
}

// LocalRanks returns how many ranks of the job are on this node, 0 where the launcher does not say.
func LocalRanks(env []string) int {
	for _, name := range []string{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE"} {
		value, _ := environ.Get(env, name)
		if ranks, err := strconv.Atoi(value); err == nil {
			return ranks
		}
	}
	return 0
}
