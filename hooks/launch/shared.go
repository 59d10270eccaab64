package launch

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/profile"
)

// Shared is what the plans of all starts of a job have in common: what the profile and the host's files say.
type Shared struct {
	Plan  Plan           `json:"plan"`  // without what depends on the start: its command, its caller's environment
	Locks []profile.Lock `json:"locks"` // on options that the caller may not change
}

// Key is what something shared was made for. A start with another key needs a plan of its own.
type Key struct {
	Prefix        string `json:"prefix"`
	Profile       string `json:"profile"` // as it was asked for; empty where none was named
	UserNamespace bool   `json:"user_namespace"`
}

// Share resolves a profile for a job.
func Share(p *profile.Profile, r Request) (Shared, error) {
	mounts, err := resolveMounts(p, r)
	if err != nil {
		return Shared{}, err
	}
	devices, err := resolveDevices(p, r)
	if err != nil {
		return Shared{}, err
	}
	injection, err := resolveInjection(p, r)
	if err != nil {
		return Shared{}, err
	}
	environment := append(profileOptions(p), resolveEnvironment(p, r.UserNamespace)...)
	if injection != nil {
		mounts = append(mounts, injection.mounts()...)
		environment = append(environment, injection.changes(p.MPI.Library)...)
	}
	plan := Plan{
		Profile: p.Name, Files: p.Files, Inject: injection, Mounts: mounts, Devices: devices, Entry: []string{},
		Launcher: orEmpty(p.Launcher.Prefix), Options: orEmpty(p.Container.Options), PerNode: p.Container.PerNode,
		Environment: environment,
	}
	return Shared{Plan: plan, Locks: p.Locks}, nil
}

// ShareChosen resolves the profile that was chosen for a caller, or the built-in one where it cannot be used on this host
// and nobody asked for it; it returns the one that was resolved. The request may depend on a profile's options.
func ShareChosen(chosen profile.Chosen, request func(options []string) Request) (Shared, profile.Chosen, error) {
	shared, err := Share(chosen.Profile, request(chosen.Container.Options))
	if err == nil {
		return shared, chosen, nil
	}
	if chosen, err = chosen.Instead(err); err != nil {
		return Shared{}, chosen, err
	}
	shared, err = Share(chosen.Profile, request(nil))
	return shared, chosen, err
}

// Beside adds variables of another profile, called name, which nobody has named: those of which this one says nothing, not even
// that nobody may change them.
func (s Shared) Beside(name string, variables []Variable) Shared {
	added := slices.DeleteFunc(variables, func(v Variable) bool {
		isSaid := slices.ContainsFunc(s.Plan.Environment, func(said Variable) bool { return said.Name == v.Name && said.Change != Keep })
		return isSaid || profile.LockOn(s.Locks, "environment.set."+v.Name) != nil
	})
	if len(added) > 0 {
		s.Plan.Profile += "," + name
		s.Plan = s.Plan.With(added...)
	}
	return s
}

// For returns the plan of one start.
func (s Shared) For(r Request) (Plan, error) {
	options, others := []Variable{}, []Variable{}
	for _, v := range s.Plan.Environment {
		if ourvars.IsOption(v.Name) {
			options = append(options, v)
		} else {
			others = append(others, v)
		}
	}
	options, err := withCallers(options, s.Locks, r.Environ)
	if err != nil {
		return Plan{}, err
	}
	mode := "1"
	if asked, _ := environ.Get(r.Environ, ourvars.Mode); asked == "force" {
		mode = "force"
	}
	plan := s.Plan
	// By name, because a container may start with a clean environment.
	own := []Variable{{ourvars.Mode, mode, Set}, {ourvars.Profile, plan.Profile, Set}, {ourvars.Applied, plan.Profile, Set}}
	plan.Environment = slices.Concat(own, options, others)
	switch {
	case r.Shm != ShmHost:
		plan.placeStore(r.Shm)
	case r.OwnShm && Caches(options):
		plan.placeStore(ShmNoExec)
	}
	switch {
	case len(r.Command) == 0:
		env := r.Environ
		for _, v := range options {
			env = v.In(env)
		}
		plan.Environment = append(plan.Environment, BySitecustomize(env)...)
	case r.Command[0] != EntryPath:
		plan.Entry = []string{EntryPath}
	}
	return plan, nil
}

// largestText is in bytes: the environment has room for one string of 128 KiB, and launchers copy it to every rank.
const largestText = 32 << 10

// JobPlan is what all container starts of a job read in _MPIIMPORT_PLAN. Where there is no text, Why says what it cannot
// hold, and each start has to resolve the profile itself. LeftOut has the lines that say what the plan leaves out.
type JobPlan struct {
	Text    string
	Why     string
	LeftOut []string
}

// ForJob resolves a profile once for a job.
func ForJob(chosen profile.Chosen, asked string, r Request) (JobPlan, error) {
	shared, chosen, err := ShareChosen(chosen, func([]string) Request { return r })
	if err != nil {
		return JobPlan{}, err
	}
	text, err := WriteShared(shared, Key{Prefix: r.Prefix, Profile: asked, UserNamespace: r.UserNamespace})
	plan := JobPlan{LeftOut: chosen.LeftOut}
	switch {
	case err != nil:
		return JobPlan{}, err
	case len(chosen.Missing) > 0:
		// The launcher may set for each rank what is not set here.
		plan.Why = fmt.Sprintf("the profile %s refers to %s, which is not set here", chosen.Name, chosen.Missing[0])
	case len(text) > largestText:
		plan.Why = fmt.Sprintf("the plan of the profile %s has %d bytes, more than the %d that a job can carry", chosen.Name, len(text), largestText)
	default:
		plan.Text = text
	}
	return plan, nil
}

// envelope is how something shared travels in the environment, which launchers may cut and change on the way.
type envelope struct {
	Version int             `json:"version"`
	Key     Key             `json:"key"`
	Sum     uint32          `json:"sum"` // of the text of what is shared
	Shared  json.RawMessage `json:"shared"`
}

const envelopeVersion = 2

// WriteShared returns the text that the variable _MPIIMPORT_PLAN holds.
func WriteShared(shared Shared, key Key) (string, error) {
	content, err := json.Marshal(shared)
	text := []byte{}
	if err == nil {
		text, err = json.Marshal(envelope{Version: envelopeVersion, Key: key, Sum: crc32.ChecksumIEEE(content), Shared: content})
	}
	if err != nil {
		return "", fmt.Errorf("cannot write the launch plan: %w", err)
	}
	return string(text), nil
}

// ReadShared returns what text holds if it was made for this key by this version.
func ReadShared(text string, key Key) (Shared, bool) {
	var found envelope
	if json.Unmarshal([]byte(text), &found) != nil || found.Version != envelopeVersion || found.Key != key {
		return Shared{}, false
	}
	var shared Shared
	if crc32.ChecksumIEEE(found.Shared) != found.Sum || json.Unmarshal(found.Shared, &shared) != nil {
		return Shared{}, false
	}
	// Without this mount a container could not start its command.
	brings := slices.Contains(shared.Plan.Mounts, Mount{Source: key.Prefix, Target: Inside, Options: "ro"})
	return shared, brings
}
