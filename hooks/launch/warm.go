package launch

import (
	"os"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// BringingWarm mounts the directory of the file from which the program is to start, or into which its image is to be written.
// Containers see few directories of the host, so it gets a name of its own there. What is not there nobody can mount: then the
// door in the container says so. The environment is the caller's.
func (p Plan) BringingWarm(env []string) Plan {
	named := WarmFile(p.Environment)
	if named == "" {
		return p
	}
	file, err := filepath.Abs(named)
	if err != nil {
		return p
	}
	directory, name := filepath.Split(file)
	// The runtimes' options for mounts have meanings for these.
	if info, err := os.Stat(directory); err != nil || !info.IsDir() || strings.ContainsAny(directory, `:,\`) {
		return p
	}
	mount := Mount{Source: filepath.Clean(directory), Target: WarmPath, Options: "ro"}
	if fill, _ := environ.Get(env, ourvars.Fill); fill != "" && fill != "0" {
		mount.Options = "rw"
	}
	p.Mounts = append(p.Mounts[:len(p.Mounts):len(p.Mounts)], mount)
	return p.With(Variable{ourvars.Warm, WarmPath + "/" + name, Set})
}
