// Package launch turns a profile and a request into a launch plan: mounts, environment, command.
package launch

import (
	"slices"

	"mpiimport.org/hooks/internal/leaves/environ"
)

// Places inside the container; images need not know them.
const (
	Inside    = "/.mpiimport"
	EntryPath = Inside + "/bin/mpiimport-entry"
	SitePath  = Inside + "/lib/mpiimport/door"
	StorePath = "/.mpiimport-store" // where the plan brings memory for a store
	MPIPath   = "/.mpiimport-mpi"   // where the plan brings the host's MPI
)

// Plan is a profile resolved for one container start. It is pure data: adapters carry it out.
type Plan struct {
	Profile     string     `json:"profile"`
	Files       []string   `json:"files"`
	Mounts      []Mount    `json:"mounts"`
	Devices     []string   `json:"devices"`          // device nodes, by their paths on the host and in the container
	Memory      []string   `json:"memory,omitempty"` // where a file system in memory is mounted, writable and executable
	Environment []Variable `json:"environment"`
	Entry       []string   `json:"entry"`
	Launcher    []string   `json:"launcher"` // the launcher, for a line of `mpiimport run` that begins with an option
	Options     []string   `json:"options"`  // of Apptainer or SingularityCE, each --name or --name=value
	PerNode     bool       `json:"per_node"` // all ranks of a node share one container
	Inject      *Injection `json:"inject,omitempty"`
}

// With returns the plan with further changes to the environment.
func (p Plan) With(variables ...Variable) Plan {
	p.Environment = slices.Concat(p.Environment, variables)
	return p
}

// Mount is a bind mount; Options is ro or rw.
type Mount struct {
	Source  string `json:"source"`
	Target  string `json:"target"`
	Options string `json:"options"`
}

// Variable is one change to the container's environment.
type Variable struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Change Change `json:"change"`
}

// Change says what happens to a variable.
type Change string

// Default sets a variable that is not set. Append and Prepend add an element to a colon list and keep the rest. Pid sets the variable to the process
// id, inside the container, of the program that the container starts. Keep is about all variables of the caller whose
// names match, * standing for any letters: they enter the container as if its environment were not cleaned.
const (
	Set     Change = "set"
	Default Change = "default"
	Append  Change = "append"
	Prepend Change = "prepend"
	Unset   Change = "unset"
	Pid     Change = "pid"
	Keep    Change = "keep"
)

// Bind writes the mount as the runtimes' --bind option takes it.
func (m Mount) Bind() string { return m.Source + ":" + m.Target + ":" + m.Options }

// In makes the change to an environment whose present values are known.
func (v Variable) In(env []string) []string {
	old, isSet := environ.Get(env, v.Name)
	switch {
	case v.Change == Keep, v.Change == Default && isSet:
		return env
	case v.Change == Unset:
		return environ.Unset(env, v.Name)
	case v.Change == Prepend:
		return environ.PrependPath(env, v.Name, v.Value)
	case v.Change == Append && old != "":
		return environ.Set(env, v.Name, old+":"+v.Value)
	}
	return environ.Set(env, v.Name, v.Value)
}
