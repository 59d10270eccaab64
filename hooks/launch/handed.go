package launch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/profile"
)

// Handed is a plan resolved once, by `mpiimport run` in a person's shell, for all container starts of a job. It
// travels in the environment (handover.Plan) as JSON, so that a start reads no file. The fields beside Plan say
// what it was resolved for: a start that differs in one of them resolves for itself.
type Handed struct {
	Prefix        string `json:"prefix"`
	Asked         string `json:"asked"` // the profile as it was named; empty for the built-in default
	UserNamespace bool   `json:"user_namespace"`
	Plan          Plan   `json:"plan"` // without what depends on one start: switch, caller's options, entry
}

// largestHanded is in bytes: the environment has room for one string of 128 KiB, and launchers copy it to each rank.
const largestHanded = 32 << 10

// Prepare resolves a profile for all starts of a job.
func Prepare(p *profile.Profile, asked string, r Request) (Handed, error) {
	plan, err := prepare(p, r)
	return Handed{Prefix: r.Prefix, Asked: asked, UserNamespace: r.UserNamespace, Plan: plan}, err
}

// Encode returns the value of handover.Plan.
func (h Handed) Encode() (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(h); err != nil {
		return "", err
	}
	if text.Len() > largestHanded {
		return "", fmt.Errorf("the launch plan of profile %s takes %d bytes, and %d fit into the environment; shorten its mounts and variables",
			h.Plan.Profile, text.Len(), largestHanded)
	}
	return string(bytes.TrimSpace(text.Bytes())), nil
}

// FromEnvironment returns the plan for this start if the environment holds one that was resolved for the same
// installation, profile and kind of container. What is there but not understood, as after an upgrade, counts as absent.
func FromEnvironment(asked string, r Request) (Plan, bool) {
	text, ok := environ.Get(r.Environ, handover.Plan)
	if !ok {
		return Plan{}, false
	}
	var h Handed
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&h); err != nil {
		return Plan{}, false
	}
	if h.Prefix != r.Prefix || h.Asked != asked || h.UserNamespace != r.UserNamespace || len(h.Plan.Mounts) == 0 {
		return Plan{}, false
	}
	return h.Plan.completed(r), true
}
