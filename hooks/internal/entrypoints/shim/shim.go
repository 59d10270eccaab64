// Package shim turns a command line of singularity or apptainer into the one that is executed.
package shim

import (
	"cmp"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/entrypoints/apptainercli"
	"mpiimport.org/hooks/internal/entrypoints/nodecontainer"
	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// Call is one call of the shim.
type Call struct {
	Args   []string // without the program's name
	Env    []string
	Prefix string               // where mpiimport is installed
	Facts  containerstart.Facts // of the real runtime
	Root   bool                 // whether root calls
	Doubt  string               // why nothing may be added; empty if it may
}

// Outcome is what to execute. LeftOut says what of the profile is not applied, Note why acceleration that was asked for
// was not. Container is set where the ranks of a node are to share one; Args then starts a container for this process alone.
type Outcome struct {
	Args      []string
	Env       []string
	LeftOut   []string
	Note      string
	Container *nodecontainer.Commands
}

// IsAsked says whether the call says anything about acceleration that is to be heeded.
func IsAsked(args, env []string) bool {
	return Call{Args: args, Env: env}.start(apptainercli.Parse(args)).IsAsked()
}

// Plain returns the command line as the real runtime takes it, with nothing added.
func Plain(args []string) []string { return apptainercli.Parse(args).WithoutFlag() }

func (c Call) start(line apptainercli.Line) containerstart.Call {
	return containerstart.Call{
		Action: line.Action, Words: line.Words(), Image: line.Image(), Command: line.Command(),
		Asked: line.Asked, Value: line.Value, Options: line.Options(c.Env), Verbose: line.IsVerbose(), Doubt: cmp.Or(line.Doubt, c.Doubt),
		Env: c.Env, Prefix: c.Prefix, Facts: c.Facts, Root: c.Root, Takes: apptainercli.Takes,
	}
}

// Decide returns what to execute. An error means that nothing may start.
func Decide(c Call) (Outcome, error) {
	line := apptainercli.Parse(c.Args)
	// A file that cannot be read ends the runtime, which says so.
	if text, err := regularfile.Read(line.Config(c.Env)); err == nil {
		c.Facts = c.Facts.Configured(containerstart.Directives(string(text)))
	}
	out, err := c.start(line).Decide()
	if err != nil {
		return Outcome{}, err
	}
	line = line.Adding(out.Options)
	outcome := Outcome{Args: line.Edit(out.Binds, out.Command), Env: out.Env, LeftOut: out.LeftOut, Note: out.Note}
	if out.PerNode && nodecontainer.Pays(c.Env) {
		commands, reason := nodecontainer.Split(line, out.Binds, out.Command, c.Env)
		if reason != "" {
			outcome.Note = containerstart.NotShared(c.Env, reason)
		} else {
			outcome.Container = &commands
		}
	}
	return outcome, nil
}
