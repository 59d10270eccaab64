package launch

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/snapshotlibrary"
)

// libraryInside tells the container that the user's library was brought.
var libraryInside = Variable{ourvars.Snapshots, snapshotlibrary.InContainer, Set}

// BringsLibrary says whether the container sees a library of snapshots.
func (p Plan) BringsLibrary() bool {
	return slices.ContainsFunc(p.Environment, func(v Variable) bool {
		return v == libraryInside || v.Name == ourvars.SiteSnapshots && strings.HasPrefix(v.Value, snapshotlibrary.InContainer)
	})
}

// BringingLibraries mounts the libraries of snapshots: the user's, those of the site, and one beside the image file. Containers see few
// directories of the host, so each gets a name of its own there. The environment is the caller's. Whose they are is seen here: in a
// user namespace the files of all others belong to nobody.
func (p Plan) BringingLibraries(env []string, image string) Plan {
	env = withSet(p.Environment, env)
	p = p.bringingOwn(snapshotlibrary.Directory(env), env)
	site, _ := environ.Get(env, ourvars.SiteSnapshots)
	inside := []string{}
	for _, library := range snapshotlibrary.OfOthers(env, image) {
		if !library.IsTrusted() || !canBeMounted(library.Path) {
			continue
		}
		target := fmt.Sprintf("%s-%d", snapshotlibrary.InContainer, len(inside)+1)
		p = p.mounting(Mount{Source: library.Path, Target: target, Options: "ro"})
		inside = append(inside, target)
	}
	if site == "" && len(inside) == 0 {
		return p
	}
	return p.With(Variable{ourvars.SiteSnapshots, strings.Join(inside, ":"), Set})
}

func (p Plan) bringingOwn(library string, env []string) Plan {
	if library != "" && ourvars.PreparesAlways(env) {
		_ = snapshotlibrary.Make(library, env)
	}
	if !canBeMounted(library) {
		return p
	}
	mount := Mount{Source: library, Target: snapshotlibrary.InContainer, Options: "rw"}
	if !ourvars.IsFilling(env) && ourvars.PreparesNever(env) {
		mount.Options = "ro"
	}
	return p.mounting(mount).With(libraryInside)
}

// mounting returns the plan with one more mount, in a list of its own.
func (p Plan) mounting(mount Mount) Plan {
	p.Mounts = append(p.Mounts[:len(p.Mounts):len(p.Mounts)], mount)
	return p
}

// canBeMounted says whether a path names a directory, and has no character with a meaning in the runtimes' options for mounts.
func canBeMounted(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && !strings.ContainsAny(path, `:,\`)
}
