// Command mpiimport-shim stands as singularity and apptainer ahead of the real ones on PATH and becomes the real
// one, with mpiimport added where `--mpiimport` or MPIIMPORT=1 asks for it.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mpiimport.org/hooks/internal/prefix"
	"mpiimport.org/hooks/internal/runtimes"
	"mpiimport.org/hooks/internal/shim"
	"mpiimport.org/hooks/start"
)

// Exit statuses where no runtime was started: as a shell's, and for a mistake in what was asked for.
const (
	notExecutable = 126
	notFound      = 127
	usage         = 2
)

func main() {
	status, err := run()
	fmt.Fprintln(os.Stderr, "mpiimport:", err)
	os.Exit(status)
}

// run returns only when nothing was started.
func run() (int, error) {
	name := filepath.Base(os.Args[0])
	if name != "singularity" && name != "apptainer" {
		return notFound, fmt.Errorf("the shim was called as %s; call it as singularity or apptainer (PREFIX/shim on PATH)", name)
	}
	installed, err := prefix.Of()
	if err != nil {
		return notFound, err
	}
	env, err := runtimes.Deeper(os.Environ(), name)
	if err != nil {
		return notFound, err
	}
	self, _ := os.Executable()
	finder := runtimes.Finder{Prefix: installed, Self: self, Path: os.Getenv("PATH")}
	real, err := finder.Find(name)
	if err != nil {
		return notFound, err
	}
	status, err := become(real, installed, env)
	if status != notExecutable || !errors.Is(err, fs.ErrNotExist) {
		return status, err
	}
	if real, err = finder.Search(name); err != nil {
		return notFound, err
	}
	return become(real, installed, env)
}

// become returns only when the runtime was not started.
func become(real runtimes.Runtime, installed string, env []string) (int, error) {
	outcome, err := shim.Decide(shim.Call{
		Args: os.Args[1:], Env: env, Prefix: installed, Flavour: real.Flavour, NoBinds: real.NoBinds, Root: os.Geteuid() == 0,
	})
	if err != nil {
		return usage, err
	}
	if outcome.Container != nil {
		err := outcome.Container.Run(real.Path, installed, outcome.Env)
		outcome.Note = start.NotShared(env, err.Error())
	}
	if outcome.Note != "" {
		fmt.Fprintln(os.Stderr, outcome.Note)
	}
	err = syscall.Exec(real.Path, append([]string{real.Path}, outcome.Args...), outcome.Env)
	return notExecutable, fmt.Errorf("cannot execute %s: %w; check its permissions and architecture", real.Path, err)
}
