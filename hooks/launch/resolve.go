package launch

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/sharedlib"
	"mpiimport.org/hooks/profile"
)

// Request is everything a plan depends on beside the profile.
type Request struct {
	Prefix        string                                 // where mpiimport is installed on the host
	Command       []string                               // what the container runs; empty where its command line is not ours
	UserNamespace bool                                   // whether the container runs in a user namespace
	Environ       []string                               // the caller's environment; empty for a hook
	Exists        func(path string) bool                 // looks at the host's files
	IsDevice      func(path string) bool                 // looks whether a file of the host is a device node
	Glob          func(pattern string) ([]string, error) // expands a pattern on the host
	Shm           Shm                                    // what the container's /dev/shm is
	OwnShm        bool                                   // it ends with the container, which only a cached store must not

	Inspect func(file string) (sharedlib.Library, error) // looks into a library of the host
	Loads   func(name string) []string                   // the files that the host's loader may find under a name
}

// Shm says what /dev/shm is in the container. Docker's and podman's is noexec and small, and no place for a store.
type Shm string

const (
	ShmHost    Shm = ""        // the host's own, as under Apptainer: the store goes there
	ShmNoExec  Shm = "noexec"  // the host's, but noexec: its neighbours are on the host, so the host's is mounted once more
	ShmPrivate Shm = "private" // one of its own: its neighbours are in the same container, so it gets more memory
)

const (
	storeVariable = "MPIIMPORT_STORE"
	cacheNever    = "never"
	off           = "0"
)

// Resolve is the one planning function. It reads nothing but its arguments.
func Resolve(p *profile.Profile, r Request) (Plan, error) {
	shared, err := Share(p, r)
	if err != nil {
		return Plan{}, err
	}
	return shared.For(r)
}

// Caches says whether a store is kept on the node, or filled to be kept.
func Caches(environment []Variable) bool {
	return slices.ContainsFunc(environment, func(v Variable) bool {
		return v.Change == Set && (v.Name == ourvars.Cache && v.Value != cacheNever || v.Name == ourvars.Fill && v.Value != off && v.Value != "")
	})
}

// AsksForImage says whether the container has to know which image it is of: for what is kept or was prepared of it.
func (p Plan) AsksForImage() bool { return Caches(p.Environment) || p.BringsLibrary() }

// withSet returns a caller's environment with what is set in a container.
func withSet(environment []Variable, caller []string) []string {
	edited := environ.Edit(caller)
	for _, v := range environment {
		if v.Change == Set {
			edited.Set(v.Name, v.Value)
		}
	}
	return edited.Environment()
}

// placeStore brings a place for the store, unless the profile or the caller names one.
func (plan *Plan) placeStore(shm Shm) {
	for _, v := range plan.Environment {
		if v.Name == storeVariable {
			return
		}
	}
	if shm == ShmNoExec {
		plan.Mounts = append(plan.Mounts, Mount{Source: "/dev/shm", Target: StorePath, Options: "rw"})
	} else {
		plan.Memory = []string{StorePath}
	}
	plan.Environment = append(plan.Environment, Variable{storeVariable, StorePath, Set})
}

// HostEnvironment is what a profile changes in the environment of a program that runs where the caller does, in no
// container that mpiimport starts, with final values. Options that the caller has set stay as they are.
func HostEnvironment(p *profile.Profile, caller []string, userNamespace bool) ([]Variable, error) {
	out, err := withCallers(profileOptions(p), p.Locks, caller)
	if err != nil {
		return nil, err
	}
	for _, v := range resolveEnvironment(p, userNamespace) {
		old, isSet := environ.Get(caller, v.Name)
		if v.Change == Keep || v.Change == Default && isSet {
			continue
		}
		if v.Change == Append && old != "" {
			v.Value = old + ":" + v.Value
		}
		out = append(out, v)
	}
	return out, nil
}

// profileOptions carries the options of the service that the profile sets.
func profileOptions(p *profile.Profile) []Variable {
	out := []Variable{}
	options := p.Options()
	for _, name := range sorted(options) {
		out = append(out, Variable{name, options[name], Set})
	}
	return out
}

// withCallers adds the caller's options. They beat the profile's, unless these are locked.
func withCallers(options []Variable, locks []profile.Lock, caller []string) ([]Variable, error) {
	values := map[string]string{}
	for _, o := range options {
		values[o.Name] = o.Value
	}
	for _, entry := range caller {
		name, value, _ := strings.Cut(entry, "=")
		if !ourvars.IsOption(name) {
			continue
		}
		if lock := profile.LockOn(locks, profile.KeyOf(name)); lock != nil && value != values[name] {
			return nil, fmt.Errorf("%s=%s is set by the caller, but %s locks %s; unset the variable", name, value, lock.File, lock.Key)
		}
		values[name] = value
	}
	out := []Variable{}
	for _, name := range sorted(values) {
		out = append(out, Variable{name, values[name], Set})
	}
	return out, nil
}

func resolveEnvironment(p *profile.Profile, userNamespace bool) []Variable {
	e := environmentOf(p, userNamespace)
	set := map[string]string{}
	if p.MPI.Library != "" {
		set[libraryVariable] = p.MPI.Library
	}
	for name, value := range e.Set {
		set[name] = value
	}
	out := []Variable{}
	for name, value := range set {
		if more, both := e.Append[name]; both {
			value += ":" + more
		}
		out = append(out, Variable{name, value, Set})
	}
	for name, value := range e.Append {
		if _, both := set[name]; !both {
			out = append(out, Variable{name, value, Append})
		}
	}
	for name, value := range e.Default {
		out = append(out, Variable{name, value, Default})
	}
	for _, name := range e.Unset {
		out = append(out, Variable{name, "", Unset})
	}
	for _, pattern := range e.Keep {
		out = append(out, Variable{pattern, "", Keep})
	}
	return inOrder(out)
}

// InUserNamespaceOnly is what a profile changes in the environment in a user namespace, and not elsewhere.
func InUserNamespaceOnly(p *profile.Profile) []Variable {
	everywhere := resolveEnvironment(p, false)
	return slices.DeleteFunc(resolveEnvironment(p, true), func(v Variable) bool { return slices.Contains(everywhere, v) })
}

func environmentOf(p *profile.Profile, userNamespace bool) profile.Environment {
	if userNamespace {
		return p.UserNamespace.Environment
	}
	return p.Environment
}

// libraryVariable names the MPI library to mpi4py's binary for every MPI.
const libraryVariable = "MPI4PY_LIBMPI"

// inOrder sorts changes by what they do, then by name.
func inOrder(changes []Variable) []Variable {
	order := []Change{Set, Default, Append, Unset, Keep}
	slices.SortStableFunc(changes, func(a, b Variable) int {
		return cmp.Or(slices.Index(order, a.Change)-slices.Index(order, b.Change), strings.Compare(a.Name, b.Name))
	})
	return changes
}

// BySitecustomize lets sitecustomize activate where no entry binary stands in front of the command, which the caller with this
// environment starts. In a rank only the process that the container becomes may activate; without a rank (an mpiexec inside)
// every rank may.
func BySitecustomize(caller []string) []Variable {
	out := []Variable{{"PYTHONPATH", SitePath, Prepend}}
	if rankenv.IsRank(caller) {
		out = append(out, Variable{ourvars.Pid, "", Pid})
	}
	return out
}

func orEmpty(words []string) []string {
	return append([]string{}, words...)
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
