// Package commands decides what `mpiimport run` and `mpiimport exec` become: a launcher, or a container runtime.
package commands

import (
	"fmt"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/launch"
)

// Call is one call of a command.
type Call struct {
	Args   []string // behind the subcommand
	Env    []string
	Prefix string // where mpiimport is installed
	Root   bool   // whether root calls
}

// Outcome is what to execute.
type Outcome struct {
	Args    []string
	Env     []string
	LeftOut []string // lines that say what of the profile is not applied
	Sending *Sending // how snapshots come to the nodes of the job, if they do
}

// off says whether mpiimport is switched off; an odd switch is an error.
func (c Call) off() (bool, error) {
	mode, err := ourvars.Switch(c.Env)
	return mode == "0", err
}

// profile takes our option off the front. It returns the profile's name, empty where none is named, and the rest.
func (c Call) profile() (string, []string, error) {
	name, _ := environ.Get(c.Env, ourvars.Profile)
	words := c.Args
	for len(words) > 0 {
		value, attached := strings.CutPrefix(words[0], "--profile=")
		switch {
		case attached:
			name, words = value, words[1:]
		case words[0] != "--profile":
			return absolute(name), words, nil
		case len(words) < 2:
			return "", nil, fmt.Errorf("the option --profile has no value; name a profile, as in --profile mpich")
		default:
			name, words = words[1], words[2:]
		}
	}
	return absolute(name), words, nil
}

// absolute makes the paths of profiles independent of where the ranks start.
func absolute(name string) string {
	parts := strings.Split(name, ",")
	for i, part := range parts {
		if path, err := filepath.Abs(part); err == nil && strings.Contains(part, "/") {
			parts[i] = path
		}
	}
	return strings.Join(parts, ",")
}

func (c Call) request(userNamespace bool, command []string) launch.Request {
	return launch.Request{Prefix: c.Prefix, Command: command, UserNamespace: userNamespace, Environ: c.Env}.OnThisHost()
}
