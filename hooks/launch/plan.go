// Package launch turns a profile and a request into a launch plan: mounts, environment, command.
package launch

import (
	"fmt"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/storecache"
)

// Places inside the container; images need not know them.
const (
	Inside    = prefix.InContainer
	EntryPath = Inside + "/bin/mpiimport-entry"
	SitePath  = Inside + "/lib/mpiimport/pythonpath"
	StorePath = "/.mpiimport-store" // where the plan brings memory for a store
	CachePath = storecache.InContainer
	MPIPath   = "/.mpiimport-mpi" // where the plan brings the host's MPI
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

// ImageCache says where the containers of an image of podman's or docker's keep stores.
type ImageCache struct {
	Directory string // of the host
	Image     string // what tells the image from all others of this machine
	Born      int64  // a time (ns) between the last change to the image and the first one to the container
	Confined  string // a digest of what the container may do: which system calls, capabilities and user it has; empty where that is not known
}

// Keeping returns the plan of a container that keeps stores, and knows which image it is of. Behind the image stands what tells
// one container from all others.
func (p Plan) WithCache(k ImageCache) Plan {
	p.Mounts = slices.Concat(p.Mounts, []Mount{{Source: k.Directory, Target: CachePath, Options: "rw"}})
	told := fmt.Sprintf("%s%s %d %s", ourvars.Layers, k.Image, k.Born, k.Confined)
	return p.With(Variable{ourvars.Image, strings.TrimRight(told, " "), Set})
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
