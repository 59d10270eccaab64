// Command mpiimport-keeper starts the container that the ranks of a node share and ends it after the last one. The
// shim starts it; nobody else needs to.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/entrypoints/nodecontainer"
	"mpiimport.org/hooks/internal/leaves/descriptors"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/version"
)

// The descriptor that the shim hands over, locked.
const startLock = 3

func main() {
	version.Print()
	if filepath.Base(os.Args[0]) == nodecontainer.StartScript {
		return
	}
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "mpiimport-keeper: only mpiimport's apptainer and singularity start it; see docs/one-container-per-node.md")
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mpiimport-keeper:", err)
		os.Exit(1)
	}
}

// detached marks the second of two processes: the first one ends at once, so that the keeper is no child of a rank.
const detached = "--detached"

func run(words []string) error {
	if words[0] != detached {
		// The launcher would take what the rank got from it for still open by the rank.
		descriptors.CloseInherited(startLock)
		keeper := exec.Command(os.Args[0], append([]string{detached}, words...)...)
		keeper.ExtraFiles = []*os.File{os.NewFile(startLock, "start")}
		return keeper.Start()
	}
	// A launcher that ends a job signals all that it finds; the keeper ends when the ranks have.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	syscall.CloseOnExec(startLock)
	runOnEveryProcessor()
	k := nodecontainer.Keeper{Place: words[1], Runtime: words[2], Start: words[3:], Env: os.Environ()}
	return k.Keep(startLock)
}

// runOnEveryProcessor undoes the rank's binding, for what mounts the image serves all ranks. The kernel leaves out
// the processors that the job may not use.
func runOnEveryProcessor() {
	runtime.LockOSThread()
	var all unix.CPUSet
	for i := range all {
		all[i] = ^all[i]
	}
	_ = unix.SchedSetaffinity(0, &all)
}
