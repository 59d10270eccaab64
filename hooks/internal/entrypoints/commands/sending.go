package commands

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/snapshotlibrary"
	"mpiimport.org/hooks/internal/process/snapshotsending"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// manyNodes is the number of nodes from which on a snapshot is sent. By the model of benchmarks/page/one_file.py, 32 need as long either way.
const manyNodes = 33

// What Slurm has for it. Without --force the first does not write to what another user has planted. The options of the second leave to
// the job's steps what these have, and its standard input to the job script.
const (
	sbcast     = "sbcast {file} {to}"
	removeBy   = "srun --overlap --mem=0 --nodes=$SLURM_JOB_NUM_NODES --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 --cpus-per-task=1 --cpu-bind=none --mpi=none --input=none --quiet rm -f {to}"
	memory     = "/dev/shm"
	never      = "off"
	storeNamed = ourvars.OptionPrefix + "STORE"
)

// Sending is how snapshots come to the nodes of a job: nothing where they do not.
type Sending struct {
	Commands  snapshotsending.Commands
	directory string
	library   string
}

// sending decides by the profile and by what a batch system says of the job.
func (c Call) sending(line []string, p *profile.Profile) *Sending {
	asked := p.Snapshot
	if asked.Broadcast == never || !StartsRanks(line) {
		return nil
	}
	nodes, isKnown := nodesOf(c.Env)
	_, inSlurm := environ.Get(c.Env, "SLURM_JOB_ID")
	if !inSlurm && asked.Broadcast == "" || isKnown && nodes < cmp.Or(asked.Nodes, manyNodes) {
		return nil
	}
	options, err := launch.HostEnvironment(p, c.Env, false)
	if err != nil {
		return nil
	}
	env := c.Env
	for _, option := range options {
		env = environ.Set(env, option.Name, option.Value)
	}
	library := snapshotlibrary.Directory(env)
	if !snapshotlibrary.MayHave(library, line) {
		return nil
	}
	directory, _ := environ.Get(env, storeNamed)
	if !filepath.IsAbs(directory) {
		directory = memory
	}
	if !inSlurm && asked.Remove == "" {
		say("snapshots are not sent to the nodes: the profile %s has no snapshot.remove, which only jobs of Slurm can do without", p.Name)
		return nil
	}
	commands := snapshotsending.Commands{Send: cmp.Or(asked.Broadcast, sbcast), Remove: cmp.Or(asked.Remove, removeBy)}
	return &Sending{commands, directory, library}
}

// Begin sends them, and returns the environment in which ranks find them, and what removes them again. What fails it says in a line.
func (s *Sending) Begin(line, env []string) ([]string, func()) {
	if s == nil {
		return env, func() {}
	}
	sent, err := snapshotsending.Send(s.Commands, s.library, s.directory, line, env)
	if err != nil {
		say("snapshots are not sent to the nodes, which read the library: %v", err)
	}
	if sent == nil {
		return env, func() {}
	}
	if ourvars.IsOn(env, ourvars.Verbose) {
		say("snapshots were sent to the memory of all nodes: %s", s.Commands.Send)
	}
	return environ.Set(env, ourvars.Sent, sent.Pattern), func() {
		if err := sent.Remove(env); err != nil {
			say("snapshots may be left in the memory of nodes, as %s: %v", sent.Pattern, err)
		}
	}
}

func say(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "mpiimport: "+format+"\n", values...)
}

// nodesOf returns the number of nodes of a batch job, where that is known.
func nodesOf(env []string) (int, bool) {
	for _, name := range []string{"SLURM_JOB_NUM_NODES", "PBS_NUM_NODES"} {
		value, _ := environ.Get(env, name)
		if nodes, err := strconv.Atoi(value); err == nil {
			return nodes, true
		}
	}
	return 0, false
}
