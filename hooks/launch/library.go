package launch

import (
	"os"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/snapshotlibrary"
)

// libraryInside tells the container that a library was brought.
var libraryInside = Variable{ourvars.Snapshots, snapshotlibrary.InContainer, Set}

// BringsLibrary says whether the container sees a library of snapshots.
func (p Plan) BringsLibrary() bool { return slices.Contains(p.Environment, libraryInside) }

// never has no process in the container make a snapshot.
var never = Variable{ourvars.Prepare, ourvars.Never, Set}

// BringingLibrary mounts the library of snapshots that people have prepared. Containers see few directories of the host, so it gets
// a name of its own there. The environment is the caller's. What runs in the container can write to the library where it makes
// snapshots. hidesHome: the container does not see the user's home, and so cannot change what the user starts outside; it can write
// to the library only where somebody asks for that.
func (p Plan) BringingLibrary(env []string, hidesHome bool) Plan {
	env = withSet(p.Environment, env)
	library := snapshotlibrary.Directory(env)
	if library != "" && ourvars.PreparesAlways(env) {
		_ = snapshotlibrary.Make(library, env)
	}
	// The runtimes' options for mounts have meanings for these.
	if info, err := os.Stat(library); library == "" || err != nil || !info.IsDir() || strings.ContainsAny(library, `:,\`) {
		return p
	}
	mount := Mount{Source: library, Target: snapshotlibrary.InContainer, Options: "rw"}
	if !ourvars.IsFilling(env) && (ourvars.PreparesNever(env) || hidesHome && !ourvars.PreparesAlways(env)) {
		mount.Options = "ro"
		p = p.With(never)
	}
	p.Mounts = append(p.Mounts[:len(p.Mounts):len(p.Mounts)], mount)
	return p.With(libraryInside)
}
