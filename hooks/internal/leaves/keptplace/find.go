// Package keptplace finds the directory of this user's kept stores on this node.
package keptplace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// The names and rules are those of mpiimport/runtime/store/place.py and lock.py, which make the place.
const (
	kept     = "mpiimport-kept."
	session  = "mpiimport-"
	programs = "programs"
)

// batchJobs are the variables by which a batch system names its job: the first that is set counts.
var batchJobs = []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID"}

// Store returns the path that leads to the store of this key, if there is a place that nobody else can have made.
func Store(env []string, key string) (string, bool) {
	name, err := name(env)
	if err != nil {
		return "", false
	}
	for _, parent := range parents(env) {
		directory := filepath.Join(parent, name)
		var status syscall.Stat_t
		if syscall.Lstat(directory, &status) != nil || status.Mode&syscall.S_IFMT != syscall.S_IFDIR {
			continue
		}
		if int(status.Uid) == os.Geteuid() && status.Mode&0o77 == 0 {
			return filepath.Join(directory, programs, key), true
		}
	}
	return "", false
}

func parents(env []string) []string {
	if store, _ := environ.Get(env, ourvars.OptionPrefix+"STORE"); store != "" {
		// What is relative depends on who asks.
		if !filepath.IsAbs(store) {
			return nil
		}
		return []string{store}
	}
	temporary, _ := environ.Get(env, "TMPDIR")
	return slices.DeleteFunc([]string{"/dev/shm", temporary, "/tmp"}, func(parent string) bool { return !filepath.IsAbs(parent) })
}

func name(env []string) (string, error) {
	owner, err := user()
	if err != nil {
		return "", err
	}
	if name, _ := environ.Get(env, ourvars.Session); name != "" {
		return session + owner + "." + filepath.Base(name), nil
	}
	for _, variable := range batchJobs {
		if job, _ := environ.Get(env, variable); job != "" {
			return kept + owner + "." + strings.Map(plain, job), nil
		}
	}
	return kept + owner, nil
}

// plain keeps letters and digits.
func plain(letter rune) rune {
	if letter >= '0' && letter <= '9' || letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z' {
		return letter
	}
	return '_'
}

// user returns the number of this user as it is outside of the user namespace that this process may be in.
// user_namespaces(7), uid_map.
func user() (string, error) {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return "", err
	}
	own := os.Geteuid()
	for _, line := range strings.Split(string(text), "\n") {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err == nil && inside <= own && own < inside+size {
			return fmt.Sprint(outside + own - inside), nil
		}
	}
	return fmt.Sprint(own), nil
}
