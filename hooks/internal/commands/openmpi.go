package commands

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mpiimport.org/hooks/internal/entry"
	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
)

// openmpiList names variables for other nodes. Open MPI 4 refuses a job that has both this and -x.
const openmpiList = "OMPI_MCA_mca_base_env_list"

// toOtherNodes names our variables to Open MPI's launcher, the one that takes only what is named to other nodes.
func toOtherNodes(job Outcome) Outcome {
	if !isOpenMPI(job) {
		return job
	}
	given := valuesOf(job.Args, "-x")
	names := []string{}
	for _, name := range ours(job.Env) {
		if !given[name] {
			names = append(names, name)
		}
	}
	if list, _ := environ.Get(job.Env, openmpiList); list != "" {
		job.Env = environ.Set(job.Env, openmpiList, strings.Join(append([]string{list}, names...), ";"))
		return job
	}
	args := job.Args[:1:1]
	for _, name := range names {
		args = append(args, "-x", name)
	}
	job.Args = append(args, job.Args[1:]...)
	return job
}

// ours lists the variables that Run has set, and the caller's options.
func ours(env []string) []string {
	names := []string{}
	for _, entry := range env {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "PATH", "PYTHONPATH", handover.Mode, handover.Profile, handover.Plan:
			names = append(names, name)
		default:
			if handover.IsOption(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// valuesOf returns the variables, NAME or NAME=VALUE, that follow an option.
func valuesOf(line []string, option string) map[string]bool {
	out := map[string]bool{}
	for i := 1; i < len(line); i++ {
		if line[i-1] == option {
			name, _, _ := strings.Cut(line[i], "=")
			out[name] = true
		}
	}
	return out
}

// isOpenMPI asks launchers whose names several MPIs share.
func isOpenMPI(job Outcome) bool {
	switch filepath.Base(job.Args[0]) {
	case "mpirun", "mpiexec", "orterun", "mpirun.openmpi", "mpiexec.openmpi":
	default:
		return false
	}
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, file := range entry.Candidates(job.Args[0], job.Env) {
		question := exec.CommandContext(limit, file, "--version")
		question.Env = job.Env
		if answer, err := question.Output(); !errors.Is(err, fs.ErrNotExist) {
			return err == nil && strings.Contains(string(answer), "Open MPI")
		}
	}
	return false
}
