package launch

import (
	"fmt"
	"slices"
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
}

// Resolve is the one planning function. It reads nothing but its arguments.
func Resolve(p *profile.Profile, r Request) (Plan, error) {
	shared, err := Share(p, r)
	if err != nil {
		return Plan{}, err
	}
	return shared.For(r), nil
}

// Share makes the part of a plan that all starts of a job have in common: what the profile and the host's files say.
func Share(p *profile.Profile, r Request) (Plan, error) {
	mounts, err := resolveMounts(p, r)
	if err != nil {
		return Plan{}, err
	}
	environment := append(serviceVariables(p), resolveEnvironment(p, r)...)
	return Plan{Profile: p.Name, Files: p.Files, Mounts: mounts, Environment: environment, Entry: []string{}}, nil
}

// For completes what Share made for one start.
func (p Plan) For(r Request) Plan {
	p.Environment = callersOptions(p.Environment, r.Environ)
	switch {
	case len(r.Command) == 0:
		p.Environment = append(p.Environment, doorVariables(r)...)
	case r.Command[0] != EntryPath:
		p.Entry = []string{EntryPath}
	}
	return p
}

// HostEnvironment is what a profile changes in the environment of a program that runs where the caller does, in no
// container of ours, with final values. Options that the caller has set stay as they are.
func HostEnvironment(p *profile.Profile, caller []string, userNamespace bool) []Variable {
	out := []Variable{}
	for _, v := range callersOptions(serviceVariables(p), caller) {
		if handover.IsOption(v.Name) {
			out = append(out, v)
		}
	}
	for _, v := range resolveEnvironment(p, Request{UserNamespace: userNamespace}) {
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

// serviceVariables carries the profile's name and its options of the service.
func serviceVariables(p *profile.Profile) []Variable {
	out := []Variable{{handover.Profile, p.Name, Set}, {handover.Applied, p.Name, Set}}
	for _, name := range sorted(p.Service) {
		out = append(out, Variable{"MPIIMPORT_" + strings.ToUpper(name), p.Service[name], Set})
	}
	return out
}

// callersOptions adds the switch and the caller's own options, which beat the profile's. They are set by name because
// a container may start with a clean environment.
func callersOptions(environment []Variable, caller []string) []Variable {
	mode := "1"
	if asked, _ := environ.Get(caller, handover.Mode); asked == "force" {
		mode = "force"
	}
	out := []Variable{{handover.Mode, mode, Set}}
	for _, v := range environment {
		if value, ok := environ.Get(caller, v.Name); ok && handover.IsOption(v.Name) {
			v.Value = value
		}
		out = append(out, v)
	}
	added := []Variable{}
	for _, entry := range caller {
		name, value, _ := strings.Cut(entry, "=")
		if handover.IsOption(name) && !slices.ContainsFunc(out, func(v Variable) bool { return v.Name == name }) {
			added = append(added, Variable{name, value, Set})
		}
	}
	slices.SortFunc(added, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return append(out, added...)
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
