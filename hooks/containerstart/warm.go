package containerstart

import (
	"os"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/launch"
)

// bringingWarm mounts the directory of the file from which the program is to start, or into which its image is to be written.
// Containers see few directories of the host, so it gets a name of its own there. What is not there nobody can mount: then the
// door in the container says so.
func (c Call) bringingWarm(plan launch.Plan) launch.Plan {
	file, err := filepath.Abs(launch.WarmFile(plan.Environment))
	if launch.WarmFile(plan.Environment) == "" || err != nil {
		return plan
	}
	directory, name := filepath.Split(file)
	// The runtimes' --bind has meanings for these.
	if info, err := os.Stat(directory); err != nil || !info.IsDir() || strings.ContainsAny(directory, `:,\`) {
		return plan
	}
	mount := launch.Mount{Source: filepath.Clean(directory), Target: launch.WarmPath, Options: "ro"}
	if fill, _ := environ.Get(c.Env, ourvars.Fill); fill != "" && fill != "0" {
		mount.Options = "rw"
	}
	plan.Mounts = append(plan.Mounts[:len(plan.Mounts):len(plan.Mounts)], mount)
	return plan.With(launch.Variable{Name: ourvars.Warm, Value: launch.WarmPath + "/" + name, Change: launch.Set})
}
