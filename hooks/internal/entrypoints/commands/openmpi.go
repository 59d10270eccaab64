package commands

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/process/entry"
)

// openmpiList names variables for other nodes. Open MPI 4 refuses a job that has both this and -x.
const openmpiList = "OMPI_MCA_mca_base_env_list"

// toOtherNodes names our variables to the launchers of Open MPI, which take only what is named to other nodes.
func toOtherNodes(job Outcome) Outcome {
	place := launcherPlace(job.Args)
	if place == len(job.Args) || !isOpenMPI(job.Args[place], job.Env) {
		return job
	}
	given := valuesOf(job.Args[place:], "-x")
	for _, unset := range []string{"-u", "--unset"} {
		maps.Copy(given, valuesOf(job.Args[:place], unset))
	}
	names := []string{}
	for _, name := range ours(job.Env) {
		if !given[name] {
			names = append(names, name)
		}
	}
	list, _ := environ.Get(job.Env, openmpiList)
	if list != "" && !isPRRTE(job.Args[place]) {
		job.Env = environ.Set(job.Env, openmpiList, strings.Join(append([]string{list}, names...), ";"))
		return job
	}
	args := slices.Clone(job.Args[:place+1])
	for _, name := range names {
		args = append(args, "-x", name)
	}
	job.Args = append(args, job.Args[place+1:]...)
	return job
}

// isPRRTE says whether this is a launcher of Open MPI's runtime by itself, which does not read openmpiList.
func isPRRTE(launcher string) bool {
	name := filepath.Base(launcher)
	return name == "prterun" || name == "prun"
}

// ours lists the variables that Run has set, and the caller's options.
func ours(env []string) []string {
	names := []string{}
	for _, entry := range env {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "PATH", "PYTHONPATH", ourvars.Mode, ourvars.Profile, ourvars.Plan, ourvars.StoresValidated, ourvars.Validated, ourvars.Sent, ourvars.Job:
			names = append(names, name)
		default:
			if ourvars.IsOption(name) {
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
func isOpenMPI(launcher string, env []string) bool {
	switch filepath.Base(launcher) {
	case "mpirun", "mpiexec", "orterun", "mpirun.openmpi", "mpiexec.openmpi", "prterun", "prun":
	default:
		return false
	}
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, file := range entry.Candidates(launcher, env) {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if filepath.Base(file) == "prun" {
			// Sites have scripts of this name, which start jobs whatever they are asked. The runtime's own has a neighbour.
			file = filepath.Join(filepath.Dir(file), "prte")
		}
		question := exec.CommandContext(limit, file, "--version")
		question.Env = env
		answer, err := question.Output()
		said := string(answer)
		return err == nil && (strings.Contains(said, "Open MPI") || strings.Contains(said, "PRRTE"))
	}
	return false
}
