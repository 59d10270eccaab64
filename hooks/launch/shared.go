package launch

import (
	"encoding/json"
	"fmt"
)

// Key is what a plan that starts share was made for. A start with another key needs a plan of its own.
type Key struct {
	Prefix        string `json:"prefix"`
	Profile       string `json:"profile"` // as it was asked for; empty where none was named
	UserNamespace bool   `json:"user_namespace"`
}

// shared is how a plan travels in the environment.
type shared struct {
	Version int  `json:"version"`
	Key     Key  `json:"key"`
	Plan    Plan `json:"plan"`
}

const sharedVersion = 1

// WriteShared returns what Share made as the text that the variable MPIIMPORT_PLAN holds.
func WriteShared(plan Plan, key Key) (string, error) {
	text, err := json.Marshal(shared{Version: sharedVersion, Key: key, Plan: plan})
	if err != nil {
		return "", fmt.Errorf("cannot write the launch plan: %w", err)
	}
	return string(text), nil
}

// ReadShared returns the plan in text if it was made for this key by this version.
func ReadShared(text string, key Key) (Plan, bool) {
	var found shared
	if json.Unmarshal([]byte(text), &found) != nil || found.Version != sharedVersion || found.Key != key {
		return Plan{}, false
	}
	return found.Plan, true
}
