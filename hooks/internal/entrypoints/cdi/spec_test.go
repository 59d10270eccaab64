package cdi

import (
	"slices"
	"testing"

	"mpiimport.org/hooks/launch"
)

func TestWhatIsKeptOfTheCallerIsForTheCallerToHandIn(t *testing.T) {
	plan := launch.Plan{Profile: "site", Environment: []launch.Variable{{Name: "SLURM_*", Change: launch.Keep}, {Name: "A", Value: "1", Change: launch.Set}}}
	device, err := Device(plan)
	if err != nil || !slices.Equal(device.ContainerEdits.Env, []string{"A=1"}) {
		t.Errorf("%v, %v", device.ContainerEdits.Env, err)
	}
	plan.Environment = append(plan.Environment, launch.Variable{Name: "B", Value: "1", Change: launch.Default})
	if _, err := Device(plan); err == nil {
		t.Error("a default is set")
	}
}
