package rankenv

import (
	"strings"
	"testing"
)

func TestWhatARankStartsIsNone(t *testing.T) {
	if !IsRank([]string{"PMI_RANK=1"}) || IsRank([]string{"PMI_RANK=1", "_MPIIMPORT_OF_RANK=1"}) {
		t.Error("a rank, or what it starts")
	}
}

func TestLaunchersTellHowManyRanksAreHere(t *testing.T) {
	for environment, want := range map[string]struct {
		ranks int
		alone bool
	}{
		"":                              {0, false},
		"PMI_RANK=0 PMI_SIZE=4":         {0, false},
		"PMI_SIZE=4 MPI_LOCALNRANKS=4":  {4, true},
		"PMI_SIZE=4 MPI_LOCALNRANKS=2":  {2, false},
		"PALS_SIZE=1 PALS_LOCAL_SIZE=1": {1, true},
		"OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_SIZE=4":                        {4, false},
		"PMIX_RANK=1 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1":                  {4, true},
		"PMI_SIZE=4 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1":                   {4, true},
		"PMI_SIZE=4 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=2":                   {0, false},
		"PMI_SIZE=4 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_NUM_NODES=1":                   {0, false},
		"PMI_SIZE=4 MPI_LOCALNRANKS=2 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=1": {2, false},
	} {
		env := strings.Fields(environment)
		if ranks, alone := LocalRanks(env), IsOneNode(env); ranks != want.ranks || alone != want.alone {
			t.Errorf("%s: %d, %v", environment, ranks, alone)
		}
	}
}
