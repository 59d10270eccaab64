// Package ourvars names the variables by which mpiimport's programs tell each other something.
package ourvars

import (
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
)

// Mode and Profile are also for people to set; the others are ours alone.
const (
	Mode    = "MPIIMPORT"          // 0, 1 or force
	Profile = "MPIIMPORT_PROFILE"  // the profile's name
	Applied = "MPIIMPORT_APPLIED"  // the profile whose environment is there already
	Start   = "MPIIMPORT_START"    // early or early-nosite, where the start script runs
	Pid     = "MPIIMPORT_PID"      // the one process that may activate
	Started = "MPIIMPORT_STARTED"  // the clocks of that process when it became its command, for the report
	Unset   = "MPIIMPORT_UNSET"    // colon list of variables that the entry binary removes
	Parent  = "MPIIMPORT_PARENT"   // descriptor and pid of who becomes the parent of the process in the container
	Plan    = "MPIIMPORT_PLAN"     // a launch plan that holds for all container starts of a job
	Inject  = "MPIIMPORT_INJECT"   // what an injected MPI needs of the image (internal/inside/fitting)
	ImageOn = "MPIIMPORT_IMAGE_ON" // the kind of file system from which the container's image is read
	Python  = "MPIIMPORT_PYTHON"   // by which name python-mpi looks for the Python of warm images, - for its usual ones; the job's ranks may start from such
	Asked   = "MPIIMPORT_ASKED"    // by which name python-mpi knows the program of which an image may be made
	Image   = "MPIIMPORT_IMAGE"    // what tells the container's image from all others of this machine
	Looked  = "MPIIMPORT_LOOKED"   // which kept stores are true, as seen once for all ranks of a job
)

// ForAllRanks ends ImageOn where a launcher in the container starts the ranks, which are then all told the same.
const ForAllRanks = ":all"

// Depth says how many shims have run one after the other. The runtimes keep what begins so out of containers.
const Depth = "SINGULARITY_MPIIMPORT_DEPTH"

// OptionPrefix begins the variable of every option of the service.
const OptionPrefix = "MPIIMPORT_"

// Report is an option: where a report is written, if one is.
const Report = OptionPrefix + "REPORT"

// Keep, Fill and Session are options: whether a store is kept on the node, whether it is filled now, and for which session.
const (
	Keep    = OptionPrefix + "KEEP"
	Fill    = OptionPrefix + "FILL"
	Session = OptionPrefix + "SESSION"
)

// Warm is an option: whether an image is wanted.
const Warm = OptionPrefix + "WARM"

// IsWarm says whether an image is wanted, a kept one or a file.
func IsWarm(env []string) bool {
	value, _ := environ.Get(env, Warm)
	return value != "" && value != "0"
}

// WarmFile returns the file that Warm names; it is empty where Warm says yes or no.
func WarmFile(env []string) string {
	value, _ := environ.Get(env, Warm)
	if value == "0" || value == "1" {
		return ""
	}
	return value
}

// Layers begins Image in containers of podman and docker.
const Layers = "layers:"

// RankVariables is an option: the names of the variables for rank, size and local size, between colons.
const RankVariables = OptionPrefix + "RANK_VARIABLES"

// IsOption says whether a variable is an option of the service, which a caller may hand into a container.
func IsOption(name string) bool {
	switch name {
	case Mode, Profile, Applied, Start, Started, Pid, Unset, Parent, Plan, Inject, Python, ImageOn, Image, Looked:
		return false
	}
	return len(name) > len(OptionPrefix) && strings.HasPrefix(name, OptionPrefix)
}
