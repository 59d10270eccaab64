// Package jobend says, at the end of a job, what that got of mpiimport.
package jobend

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/filesystems"
	"mpiimport.org/hooks/internal/leaves/jobnotes"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/pythonscript"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/launch"
)

// said is in the place of the way where a rank has printed why it is plain.
const said = "said"

// Job is a job that has ended.
type Job struct {
	Line   []string // the launcher's
	Env    []string
	Prefix string
	Notes  map[string][]string
	Shared bool // whether the ranks' nodes see the directory of notes
	// Launches is whether the line starts ranks, as far as it is known.
	Launches bool
}

// Lines returns what to say; nothing where nothing is known, or the ranks have said it.
func (j Job) Lines() []string {
	ranks, tasks := j.notesOf(jobnotes.Rank), j.notesOf(jobnotes.Task)
	switch {
	case len(ranks) == 1 && ranks[0][0] == said:
		return nil
	case len(ranks) == 1:
		return []string{printable(ranks[0][1])}
	case len(ranks) > 1:
		return []string{printable(fmt.Sprintf("%d programs: %s", len(ranks), counted(ranks)))}
	case len(tasks) > 0:
		ways := []string{}
		for _, task := range tasks {
			ways = append(ways, task[1])
		}
		return []string{printable("tasks: " + strings.Join(ways, ", "))}
	case j.noneCouldTell():
		return nil
	}
	return []string{j.noRank()}
}

// notesOf returns the notes of a kind, in order of their names.
func (j Job) notesOf(kind string) [][]string {
	found := [][]string{}
	for _, name := range slices.Sorted(maps.Keys(j.Notes)) {
		if note := j.Notes[name]; strings.HasPrefix(name, kind) && len(note) > 1 {
			found = append(found, note)
		}
	}
	return found
}

func counted(notes [][]string) string {
	ways := map[string]int{}
	for _, note := range notes {
		way := note[0]
		if way == said {
			way = "plain"
		}
		ways[way]++
	}
	parts := []string{}
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		parts = append(parts, fmt.Sprintf("%d %s", ways[way], way))
	}
	return strings.Join(parts, ", ")
}

// noneCouldTell says whether it stays unknown what the ranks did.
func (j Job) noneCouldTell() bool {
	if !j.Launches {
		return true
	}
	if _, inside := j.Notes[jobnotes.Inside]; inside {
		return false
	}
	_, inContainers := j.Notes[jobnotes.Container]
	for _, word := range j.Line {
		inContainers = inContainers || slices.Contains(runtimes, filepath.Base(word))
	}
	return inContainers || !j.Shared
}

// runtimes do not hand the variable that names the directory into their containers, or not the directory.
var runtimes = []string{"ch-run", "docker", "enroot", "nerdctl", "podman", "podman-hpc", "sarus", "shifter"}

// noRank says that no rank took part, why, and what to do.
func (j Job) noRank() string {
	entryPoint := prefix.PythonMPI(j.Prefix)
	if _, inside := j.Notes[jobnotes.Inside]; inside {
		entryPoint = prefix.PythonMPI(launch.Inside)
	}
	reason := "PYTHONPATH was changed on the way, python has the option -I or -E, or no python was started"
	if option := j.ignoring(); option != "" {
		reason = "python has the option " + option + ", and so mpiimport does not come to it"
	}
	return printable(fmt.Sprintf("no rank of this job took part, as far as is seen here: %s; start the program by %s", reason, entryPoint))
}

// ignoring returns the option on the line by which its python does not look at PYTHONPATH.
func (j Job) ignoring() string {
	for place, word := range j.Line {
		if filepath.Base(word) == "python-mpi" {
			break
		}
		if strings.HasPrefix(filepath.Base(word), "python") {
			return pythonscript.Ignoring(j.Line[place:])
		}
		for _, file := range entry.Candidates(word, j.Env) {
			if python := pythonscript.Interpreter(file); python != nil {
				return pythonscript.Ignoring(python)
			}
		}
	}
	return ""
}

// hosts are options by which launchers are told other nodes.
var hosts = []string{"-H", "-N", "-f", "-host", "-hostfile", "-hosts", "-machine", "-machinefile", "-nodes", "-ppn", "-w"}

// remote are launchers that start ranks where a batch system has room.
var remote = []string{"aprun", "ccc_mprun", "flux", "jsrun", "srun", "yhrun"}

// batch are variables of jobs that may have several nodes.
var batch = []string{"COBALT_JOBID", "FLUX_JOB_ID", "FLUX_URI", "JOB_ID", "LSB_JOBID", "OAR_JOB_ID", "PBS_JOBID", "SLURM_JOB_ID"}

// nodeCounts are variables that say how many nodes such a job has.
var nodeCounts = []string{"SLURM_JOB_NUM_NODES", "PBS_NUM_NODES"}

// IsSeen says whether all ranks that a line starts see a directory of this node: all are here, or the file system is one
// that nodes share.
func IsSeen(directory string, line, env []string) bool {
	if kind := filesystems.OfDirectory(directory, filesystems.Mountinfo); slices.Contains(shared, kind) {
		return true
	}
	for _, word := range line {
		option, _, _ := strings.Cut(strings.Replace(word, "--", "-", 1), "=")
		if slices.Contains(hosts, option) {
			return false
		}
	}
	for _, name := range nodeCounts {
		if value, _ := environ.Get(env, name); value == "1" {
			return true
		}
	}
	for _, word := range line {
		if slices.Contains(remote, filepath.Base(word)) {
			return false
		}
	}
	return !slices.ContainsFunc(batch, func(name string) bool { value, _ := environ.Get(env, name); return value != "" })
}

var shared = []string{"afs", "beegfs", "beegfs_nodev", "ceph", "cifs", "dvs", "gpfs", "lustre", "nfs", "nfs4", "orangefs", "panfs", "wekafs"}

// printable returns a line as it may be printed, with the name of this tool in front.
func printable(line string) string {
	text := strconv.QuoteToGraphic(line)
	return "mpiimport: " + strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
}
