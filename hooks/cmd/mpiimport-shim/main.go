// Command mpiimport-shim stands as singularity and apptainer ahead of the real ones on PATH and becomes the real
// one, with mpiimport added where `--mpiimport` or MPIIMPORT=1 asks for it.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/entrypoints/runtimes"
	"mpiimport.org/hooks/internal/entrypoints/shim"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/jobnotes"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/version"
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
		version.Print()
		return notFound, fmt.Errorf("the shim was called as %s; call it as singularity or apptainer (PREFIX/shim on PATH)", name)
	}
	installed, err := prefix.Of()
	if err != nil {
		return notFound, err
	}
	args, env := os.Args[1:], os.Environ()
	isAsked := shim.IsAsked(args, env)
	recorded, broken := runtimes.Recorded(nil), error(nil)
	if isAsked {
		recorded, broken = runtimes.Read(prefix.LaunchFile(installed))
	}
	self, _ := os.Executable()
	finder := runtimes.Finder{Prefix: installed, Self: self, Path: os.Getenv("PATH"), Known: recorded}
	real, err := finder.Find(name)
	if err != nil && !isAsked {
		finder.Known, _ = runtimes.Read(prefix.LaunchFile(installed))
		real, err = finder.Find(name)
	}
	if err != nil {
		return notFound, errors.Join(err, broken)
	}
	if env, err = runtimes.Deeper(env, real.Path); err != nil {
		return notFound, err
	}
	if rankenv.SpeaksForJob(env) {
		jobnotes.Leave(env, jobnotes.Container)
	}
	call := shim.Call{Args: args, Env: env, Prefix: installed, Facts: real.Facts, Root: os.Geteuid() == 0}
	if broken != nil {
		call.Doubt = broken.Error()
	}
	return become(real.Path, call)
}

// become returns only when the runtime was not started.
func become(runtime string, call shim.Call) (int, error) {
	outcome, err := shim.Decide(call)
	if err != nil {
		return usage, err
	}
	for _, line := range outcome.LeftOut {
		fmt.Fprintln(os.Stderr, line)
	}
	if outcome.Container != nil {
		err := outcome.Container.Run(runtime, call.Prefix, outcome.Env)
		outcome.Note = containerstart.NotShared(call.Env, err.Error())
	}
	if outcome.Note != "" {
		fmt.Fprintln(os.Stderr, outcome.Note)
	}
	err = syscall.Exec(runtime, append([]string{runtime}, outcome.Args...), outcome.Env)
	if errors.Is(err, syscall.E2BIG) {
		if note := containerstart.NotAccelerated(call.Env, "the kernel has no room for what is added to this environment; keep fewer variables in the profile"); note != "" {
			fmt.Fprintln(os.Stderr, note)
		}
		err = syscall.Exec(runtime, append([]string{runtime}, shim.Plain(call.Args)...), call.Env)
	}
	return notExecutable, fmt.Errorf("cannot execute %s: %w; check its permissions and architecture", runtime, err)
}
