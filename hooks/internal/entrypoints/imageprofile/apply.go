// Package imageprofile applies a profile where nobody outside the container has: in an image with mpiimport inside.
package imageprofile

import (
	"cmp"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// Apply returns the environment with what the profile in it says; installed is where mpiimport lies. The profile's
// mounts are for those who start containers. What is set stays, for the image's values cannot be told from those that
// the caller gave. The second result has lines that say what of the profile is not applied.
func Apply(installed string, env []string) ([]string, []string, error) {
	named, _ := environ.Get(env, ourvars.Profile)
	chosen, err := profile.Choose(named, installed, env)
	if err != nil {
		return nil, nil, err
	}
	name := cmp.Or(named, chosen.Name)
	changes, err := launch.HostEnvironment(chosen.Profile, env, ranksAreShielded(rankenv.IsRank(env)))
	if err != nil {
		return nil, nil, err
	}
	env = environ.Set(environ.Set(env, ourvars.Profile, name), ourvars.Applied, name)
	for _, v := range changes {
		_, isSet := environ.Get(env, v.Name)
		switch {
		case v.Change == launch.Unset:
			env = environ.Unset(env, v.Name)
		case v.Change == launch.Append || !isSet:
			env = environ.Set(env, v.Name, v.Value)
		}
	}
	return env, chosen.LeftOut, nil
}

// ranksAreShielded says whether ranks may not read each other's memory: each in a user namespace of its own, where ids
// are mapped (user_namespaces(7)), or all behind Docker's seccomp filter, which refuses process_vm_readv(2).
func ranksAreShielded(isRank bool) bool {
	if _, err := unix.ProcessVMReadv(os.Getpid(), nil, nil, 0); err == unix.EPERM {
		return true
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	return isRank && err == nil && strings.Join(strings.Fields(string(ids)), " ") != "0 0 4294967295"
}
