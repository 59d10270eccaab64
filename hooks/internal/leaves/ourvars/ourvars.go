// Package ourvars names the variables by which mpiimport's programs tell each other something.
package ourvars

import (
	"fmt"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
)

// Mode and Profile are also for people to set. The others are ours alone, and begin with an underscore.
const (
	Mode            = "MPIIMPORT"                   // 0, 1 or force
	Profile         = "MPIIMPORT_PROFILE"           // the profile's name
	Applied         = "_MPIIMPORT_APPLIED"          // the profile whose environment is there already
	Start           = "_MPIIMPORT_START"            // early or early-nosite, where the start script runs
	Pid             = "_MPIIMPORT_PID"              // the one process that may activate
	Started         = "_MPIIMPORT_STARTED"          // the clocks of that process when it became its command, for the report
	Unset           = "_MPIIMPORT_UNSET"            // colon list of variables that the entry binary removes
	Parent          = "_MPIIMPORT_PARENT"           // descriptor and pid of who becomes the parent of the process in the container
	Plan            = "_MPIIMPORT_PLAN"             // a launch plan that holds for all container starts of a job
	Inject          = "_MPIIMPORT_INJECT"           // what an injected MPI needs of the image (internal/process/fitting)
	ImageOn         = "_MPIIMPORT_IMAGE_ON"         // the kind of file system from which the container's image is read
	Python          = "_MPIIMPORT_PYTHON"           // by which name python-mpi looks for Python, - for its usual ones, where the job's ranks may start from a snapshot
	Asked           = "_MPIIMPORT_ASKED"            // the key of the program of which a snapshot is to be made
	Image           = "_MPIIMPORT_IMAGE"            // what tells the container's image from all others of this machine
	Job             = "_MPIIMPORT_JOB"              // the directory in which root notes, for `mpiimport run`, what its job got
	Path            = "_MPIIMPORT_PATH"             // what PYTHONPATH is for a process that is no rank, and for Pythons that it starts
	OfRank          = "_MPIIMPORT_OF_RANK"          // a rank has started this process, and passes its variables on to it
	StoresValidated = "_MPIIMPORT_STORES_VALIDATED" // which cached stores are valid, as seen once for all ranks of a job
	Validated       = "_MPIIMPORT_VALIDATED"        // which files of snapshots are as they were, as seen once for all nodes of a job
	Sent            = "_MPIIMPORT_SENT"             // the path of snapshots that were sent to the memory of the job's nodes
)

// ForAllRanks ends ImageOn where a launcher in the container starts the ranks, which are then all told the same.
const ForAllRanks = ":all"

// ImageFile is the value of ImageOn where ranks of several nodes have an image file each, and begins Image where it is a file.
const ImageFile = "file"

// Depth says how many shims have run one after the other. The runtimes keep what begins so out of containers.
const Depth = "SINGULARITY_MPIIMPORT_DEPTH"

// OptionPrefix begins the variable of every option of the service.
const OptionPrefix = "MPIIMPORT_"

// Report is an option: where a report is written, if one is.
const Report = OptionPrefix + "REPORT"

// Verbose is an option: whether programs say what they do.
const Verbose = OptionPrefix + "VERBOSE"

// Cache, Fill and Session are options: whether a store is kept on the node, whether it is filled now, and for which session.
const (
	Cache   = OptionPrefix + "CACHE"
	Fill    = OptionPrefix + "FILL"
	Session = OptionPrefix + "SESSION"
)

// Switch returns the value of Mode. The error says which values there are.
func Switch(env []string) (string, error) {
	mode, _ := environ.Get(env, Mode)
	if !slices.Contains([]string{"", "0", "1", "force"}, mode) {
		return mode, fmt.Errorf("%s=%q is none of 0, 1, force", Mode, mode)
	}
	return mode, nil
}

// IsFilling says whether a store is to be filled, and the program not to be run.
func IsFilling(env []string) bool { return IsOn(env, Fill) }

// IsOn says whether a variable has a value that says yes.
func IsOn(env []string, name string) bool {
	value, _ := environ.Get(env, name)
	return value != "" && value != "0"
}

// Snapshot and Snapshots are options: whether a program starts from the snapshot that was prepared of it, and the library in which
// such snapshots lie. Prepare is one, too: whether a job has a snapshot made beside it where it finds none, or one that no longer fits.
const (
	Snapshot  = OptionPrefix + "SNAPSHOT"
	Snapshots = OptionPrefix + "SNAPSHOTS"
	Prepare   = OptionPrefix + "PREPARE"
)

// Never is the value of Prepare with which no job has a snapshot made.
const Never = "never"

// Values of Fill: the snapshot is to be made, and no store filled; and the same by a process beside a job. Two more begin so: see
// mpiimport/runtime/options.py.
const (
	FillSnapshot = "snapshot"
	FillBeside   = "snapshot beside a job"
)

// MakesSnapshot says whether the snapshot of the program is to be made.
func MakesSnapshot(env []string) bool {
	value, _ := environ.Get(env, Fill)
	return strings.HasPrefix(value, FillSnapshot)
}

// PreparesAlways says whether a job has a snapshot made that finds none.
func PreparesAlways(env []string) bool {
	value, _ := environ.Get(env, Prepare)
	return value == "auto"
}

// PreparesNever says whether no job has a snapshot made, not even one that finds what no longer fits.
func PreparesNever(env []string) bool {
	value, _ := environ.Get(env, Prepare)
	return value == Never
}

// Layers begins Image in containers of podman and docker.
const Layers = "layers:"

// RankVariables is an option: the names of the variables for rank, size and local size, between colons.
const RankVariables = OptionPrefix + "RANK_VARIABLES"

// IsOption says whether a variable is an option of the service, which a caller may hand into a container.
func IsOption(name string) bool {
	return name != Profile && len(name) > len(OptionPrefix) && strings.HasPrefix(name, OptionPrefix)
}

// IsOurs says whether a variable is mpiimport's, an option or handed on.
func IsOurs(name string) bool {
	name = strings.TrimPrefix(name, "_")
	return name == Mode || strings.HasPrefix(name, OptionPrefix)
}
