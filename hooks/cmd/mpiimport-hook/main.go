// Command mpiimport-hook is called by OCI runtimes while they make a container. Where the container's annotation
// org.mpiimport.profile names a profile, the container gets mpiimport: all of it at precreate, at createContainer the
// mounts alone.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mpiimport.org/hooks/internal/ocihook"
)

const usage = `usage: mpiimport-hook precreate            edit the config.json on standard input (podman)
       mpiimport-hook createContainer      mount for the container whose state is on standard input
       mpiimport-hook check PROFILE        say what is wrong with a profile for containers`

func main() {
	err := run(os.Args[1:])
	var unchanged ocihook.Unchanged
	switch {
	case errors.As(err, &unchanged):
		fmt.Fprintln(os.Stderr, "mpiimport: the container starts without mpiimport:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mpiimport:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	stage := ""
	if len(args) > 0 {
		stage = args[0]
	}
	switch stage {
	case "precreate":
		return precreate()
	}
	// What an unknown stage expects is unknown, too: its input is the least surprising.
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return err
	}
	return ocihook.Unchanged{Reason: fmt.Sprintf("nothing can be done at the stage %q", stage)}
}

func precreate() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("cannot read config.json from standard input: %w", err)
	}
	host, err := ocihook.ThisHost()
	if err != nil {
		return err
	}
	edited, outcome := ocihook.Precreate(text, host)
	if edited != nil {
		if _, err := os.Stdout.Write(edited); err != nil {
			return fmt.Errorf("cannot write config.json to standard output: %w", err)
		}
	}
	return outcome
}
