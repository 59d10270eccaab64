// Command mpiimport-hook is called by OCI runtimes while they make a container. Where the container's annotation
// org.mpiimport.profile names a profile, the container gets mpiimport: all of it at precreate, at createContainer the
// mounts alone.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mpiimport.org/hooks/internal/entrypoints/ocihook"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/version"
)

const usage = `usage: mpiimport-hook precreate            edit the config.json on standard input (podman)
       mpiimport-hook createContainer      mount for the container whose state is on standard input
       mpiimport-hook check PROFILE        say what is wrong with a profile for containers`

func main() {
	version.Print()
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
	case "precreate", "createContainer":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return fmt.Errorf("cannot read standard input: %w", err)
		}
		host, err := ocihook.ThisHost()
		if err != nil {
			return err
		}
		if stage == "createContainer" {
			return ocihook.CreateContainer(text, host)
		}
		return precreate(text, host)
	case "check":
		return check(args[1:])
	case "--help", "-h":
		fmt.Println(usage)
		return nil
	}
	// What an unknown stage expects is unknown, too: its input is the least surprising.
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return err
	}
	return ocihook.Unchanged{Reason: fmt.Sprintf("nothing can be done at the stage %q", stage)}
}

func precreate(text []byte, host ocihook.Host) error {
	edited, outcome := ocihook.Precreate(text, host)
	if edited != nil {
		if _, err := os.Stdout.Write(edited); err != nil {
			return fmt.Errorf("cannot write config.json to standard output: %w", err)
		}
	}
	return outcome
}

// check says for a person what runtimes keep to themselves: podman shows no line of a hook that fails.
func check(names []string) error {
	if len(names) != 1 {
		return errors.New("check takes the name of one profile\n" + usage)
	}
	host, err := ocihook.ThisHost()
	if err != nil {
		return err
	}
	return host.Check(names[0])
}
