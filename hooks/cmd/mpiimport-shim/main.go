// Command mpiimport-shim stands as singularity and apptainer ahead of the real ones on PATH and becomes the real
// one, with mpiimport added where `--mpiimport` or MPIIMPORT=1 asks for it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"mpiimport.org/hooks/internal/prefix"
	"mpiimport.org/hooks/internal/runtimes"
	"mpiimport.org/hooks/internal/shim"
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
		return 127, fmt.Errorf("the shim was called as %s; call it as singularity or apptainer (PREFIX/shim on PATH)", name)
	}
	installed, err := prefix.Of()
	if err != nil {
		return 127, err
	}
	env, err := runtimes.Deeper(os.Environ(), name)
	if err != nil {
		return 127, err
	}
	self, _ := os.Executable()
	real, err := runtimes.Finder{Prefix: installed, Self: self, Path: os.Getenv("PATH")}.Find(name)
	if err != nil {
		return 127, err
	}
	outcome, err := shim.Decide(shim.Call{
		Args: os.Args[1:], Env: env, Prefix: installed, Flavour: real.Flavour, NoBinds: real.NoBinds, Root: os.Geteuid() == 0,
	})
	if err != nil {
		return 2, err
	}
	if outcome.Container != nil {
		err := outcome.Container.Run(real.Path, installed, outcome.Env)
		outcome.Note = shim.SharesNone(env, err.Error())
	}
	if outcome.Note != "" {
		fmt.Fprintln(os.Stderr, outcome.Note)
	}
	err = syscall.Exec(real.Path, append([]string{real.Path}, outcome.Args...), outcome.Env)
	return 126, fmt.Errorf("cannot execute %s: %w; check its permissions and architecture", real.Path, err)
}
