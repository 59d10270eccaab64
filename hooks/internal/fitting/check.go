// Package fitting looks, inside a container, whether its C library is new enough for the host's MPI that is brought into it.
package fitting

import (
	"fmt"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/internal/sharedlib"
)

// Check returns the environment without what it was told, or why the host's MPI cannot be loaded here.
func Check(env []string) ([]string, error) {
	return check(env, ownVersions())
}

// ownVersions returns the symbol versions of the C library that programs here are started with. None where it lies
// elsewhere than usual: then only the loader can tell.
func ownVersions() []string {
	for _, file := range sharedlib.NewLoader().Find(sharedlib.CLibrary) {
		if library, err := sharedlib.Read(file); err == nil && library.IsForThisMachine() {
			return library.Has
		}
	}
	return nil
}

func check(env, has []string) ([]string, error) {
	said, _ := environ.Get(env, handover.Glibc)
	env = environ.Unset(env, handover.Glibc)
	versions, library, _ := strings.Cut(said, " ")
	if said == "" || len(has) == 0 {
		return env, nil
	}
	for _, version := range strings.Split(versions, ":") {
		if !slices.Contains(has, version) {
			return nil, fmt.Errorf("%s of this host needs %s of %s, and the image's has at most %s; use an image with a newer C library, or a profile without mpi.inject, which leaves the image its own MPI",
				library, version, sharedlib.CLibrary, sharedlib.Newest(has))
		}
	}
	return env, nil
}
