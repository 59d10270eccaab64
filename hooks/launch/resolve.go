package launch

import (
	"fmt"
	"sort"
	"strings"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/internal/rankenv"
	"mpiimport.org/hooks/profile"
)

// Request is everything a plan depends on beside the profile.
type Request struct {
	Prefix        string                                 // where mpiimport is installed on the host
	Command       []string                               // what the container runs; empty where its command line is not ours
	UserNamespace bool                                   // whether the container runs in a user namespace
	Environ       []string                               // the caller's environment; empty for a hook
	Exists        func(path string) bool                 // looks at the host's files
	Glob          func(pattern string) ([]string, error) // expands a pattern on the host
	Shm           Shm                                    // what the container's /dev/shm is
}

// Shm says what /dev/shm is in the container. Docker's and podman's is noexec and small, and no place for a store.
type Shm string

const (
	ShmHost    Shm = ""        // the host's own, as under Apptainer: the store goes there
	ShmNoExec  Shm = "noexec"  // the host's, but noexec: its neighbours are on the host, so the host's is mounted once more
	ShmPrivate Shm = "private" // one of its own: its neighbours are in the same container, so it gets more memory
)

const storeVariable = "MPIIMPORT_STORE"

// Resolve is the one planning function. It reads nothing but its arguments.
func Resolve(p *profile.Profile, r Request) (Plan, error) {
	plan := Plan{Profile: p.Name, Files: p.Files, Entry: []string{}}
	mounts, err := resolveMounts(p, r)
	if err != nil {
		return Plan{}, err
	}
	plan.Mounts = mounts
	plan.Environment = append(ownVariables(p, r), resolveEnvironment(p, r)...)
	if r.Shm != ShmHost {
		plan.placeStore(r.Shm)
	}
	switch {
	case len(r.Command) == 0:
		plan.Environment = append(plan.Environment, doorVariables(r)...)
	case r.Command[0] != EntryPath:
		plan.Entry = []string{EntryPath}
	}
	return plan, nil
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

// HostEnvironment is what a profile changes in the environment of a program outside containers, with final
// values. Options that the caller has set stay as they are.
func HostEnvironment(p *profile.Profile, caller []string) []Variable {
	out := []Variable{}
	for _, v := range ownVariables(p, Request{Environ: caller}) {
		if handover.IsOption(v.Name) {
			out = append(out, v)
		}
	}
	for _, v := range resolveEnvironment(p, Request{}) {
		if old, _ := environ.Get(caller, v.Name); v.Change == Append && old != "" {
			v.Value = old + ":" + v.Value
		}
		out = append(out, v)
	}
	return out
}

func resolveMounts(p *profile.Profile, r Request) ([]Mount, error) {
	if strings.ContainsAny(r.Prefix, ":,") {
		return nil, fmt.Errorf("mpiimport is installed in %s, and container runtimes cannot bind a path with : or , in it; install it elsewhere", r.Prefix)
	}
	mounts := []Mount{{Source: r.Prefix, Target: Inside, Options: "ro"}}
	for _, wanted := range p.Mounts {
		sources := []string{wanted.Source}
		if wanted.Target == "" {
			found, err := r.Glob(wanted.Source)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: the pattern %s is not understood: %w; mend it", wanted.File, wanted.Line, wanted.Source, err)
			}
			sources = found
		} else if !r.Exists(wanted.Source) {
			sources = nil
		}
		if len(sources) == 0 && !wanted.Optional {
			return nil, fmt.Errorf("%s:%d: the mount source %s does not exist on this host; mend the path, or add `optional: true` if not every node has it",
				wanted.File, wanted.Line, wanted.Source)
		}
		for _, source := range sources {
			m := Mount{Source: source, Target: wanted.Target, Options: wanted.Options}
			if m.Target == "" {
				m.Target = source
			}
			if m.Target == Inside || strings.HasPrefix(m.Target, Inside+"/") {
				return nil, fmt.Errorf("%s:%d: the mount target %s lies in %s, where mpiimport itself is mounted; choose another target",
					wanted.File, wanted.Line, m.Target, Inside)
			}
			mounts = replaceTarget(mounts, m)
		}
	}
	return mounts, nil
}

// replaceTarget lets a profile override the mount of one that it extends.
func replaceTarget(mounts []Mount, m Mount) []Mount {
	for i, old := range mounts {
		if old.Target == m.Target {
			mounts[i] = m
			return mounts
		}
	}
	return append(mounts, m)
}

// ownVariables carries the switch and the options. They are set by name because a container may start with a
// clean environment. What the caller says beats what the profile says.
func ownVariables(p *profile.Profile, r Request) []Variable {
	mode := "1"
	if asked, _ := environ.Get(r.Environ, handover.Mode); asked == "force" {
		mode = "force"
	}
	options := map[string]string{}
	for name, value := range p.Service {
		options["MPIIMPORT_"+strings.ToUpper(name)] = value
	}
	for _, entry := range r.Environ {
		name, value, _ := strings.Cut(entry, "=")
		if handover.IsOption(name) {
			options[name] = value
		}
	}
	out := []Variable{{handover.Mode, mode, Set}, {handover.Profile, p.Name, Set}}
	for _, name := range sorted(options) {
		out = append(out, Variable{name, options[name], Set})
	}
	return out
}

func resolveEnvironment(p *profile.Profile, r Request) []Variable {
	e := p.Environment
	if r.UserNamespace {
		e = p.UserNamespace.Environment.Over(e)
	}
	out := []Variable{}
	for _, name := range sorted(e.Set) {
		value := e.Set[name]
		if more, both := e.Append[name]; both {
			value += ":" + more
		}
		out = append(out, Variable{name, value, Set})
	}
	for _, name := range sorted(e.Append) {
		if _, both := e.Set[name]; !both {
			out = append(out, Variable{name, e.Append[name], Append})
		}
	}
	unset := append([]string{}, e.Unset...)
	sort.Strings(unset)
	for _, name := range unset {
		out = append(out, Variable{name, "", Unset})
	}
	return out
}

// doorVariables let sitecustomize activate where no entry binary stands in front of the command. In a rank only
// the process that the container becomes may activate; without a rank (an mpiexec inside) every rank may.
func doorVariables(r Request) []Variable {
	out := []Variable{{"PYTHONPATH", SitePath, Prepend}}
	if rankenv.IsRank(r.Environ) {
		out = append(out, Variable{handover.Pid, "", Pid})
	}
	return out
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
