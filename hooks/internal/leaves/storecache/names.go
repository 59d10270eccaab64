// Package storecache knows the directory of this user's cached stores on this node. The names and rules are those of
// mpiimport/runtime/store/cache_names.py, cache.py and lock.py, which make it.
package storecache

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// InContainer is the place that a container of podman's or docker's sees.
const InContainer = "/.mpiimport-cache"

// batchJobs are the variables that tell a batch job, in the order in which they count.
var batchJobs = []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID"}

// Name is that of a user's place, or of the place of the session that the environment names.
func Name(owner int, env []string) string {
	if session, _ := environ.Get(env, ourvars.Session); session != "" {
		return fmt.Sprintf("mpiimport-%d.%s", owner, filepath.Base(session))
	}
	return fmt.Sprintf("mpiimport-cache.%d%s", owner, BatchJob(env))
}

// BatchJob returns how the names of what a batch job keeps end; it is empty outside one.
func BatchJob(env []string) string {
	for _, name := range batchJobs {
		if job, _ := environ.Get(env, name); job != "" {
			return "." + strings.Map(plain, job)
		}
	}
	return ""
}

func plain(letter rune) rune {
	if unicode.IsLetter(letter) || unicode.IsNumber(letter) {
		return letter
	}
	return '_'
}

// IsOwn says whether a directory is this user's alone: another user can make one of any name first, or put one in its place.
func IsOwn(directory string) bool {
	var status syscall.Stat_t
	if syscall.Lstat(directory, &status) != nil || status.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return false
	}
	return int(status.Uid) == os.Geteuid() && status.Mode&0o77 == 0 && !othersMayRename(filepath.Dir(directory))
}

// Owner returns the number of this user as it is outside of the user namespace of this process, if it has one there.
// user_namespaces(7), uid_map.
func Owner() (int, bool) {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 0, false
	}
	return mapped(os.Geteuid(), string(text))
}

func mapped(user int, ranges string) (int, bool) {
	lines := strings.Split(strings.TrimSpace(ranges), "\n")
	at := slices.IndexFunc(lines, func(line string) bool {
		inside, _, size, ok := rangeOf(line)
		return ok && inside <= user && user < inside+size
	})
	if at < 0 {
		return 0, false
	}
	inside, out, _, _ := rangeOf(lines[at])
	return out + user - inside, true
}

func rangeOf(line string) (inside, outside, size int, ok bool) {
	n, _ := fmt.Sscan(line, &inside, &outside, &size)
	return inside, outside, size, n == 3
}
