package profile

import (
	"fmt"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/rankenv"
)

// Choose returns the profile called name as the launch of a caller takes it, whose environment this is. Where the caller
// names none, the first that fits is taken.
func Choose(name, installed string, caller []string) (Chosen, error) {
	p, candidates, err := find(name, installed, caller)
	if err != nil {
		return Chosen{}, err
	}
	chosen, err := p.For(caller)
	chosen.isNamed, chosen.speaks = name != "", rankenv.SpeaksForJob(caller)
	lines := chosen.LeftOut
	chosen.LeftOut = nil
	for _, c := range candidates {
		if c.broken != nil {
			chosen.passOver(c.broken)
		}
	}
	chosen.LeftOut = append(chosen.LeftOut, lines...)
	return chosen, err
}

// Find returns that profile as it is written.
func Find(name, installed string, caller []string) (*Profile, error) {
	p, _, err := find(name, installed, caller)
	return p, err
}

// find returns the candidates, too, where none is named.
func find(name, installed string, caller []string) (*Profile, []Candidate, error) {
	if name != "" {
		p, err := Load(name, Directories(installed, caller))
		return p, nil, err
	}
	candidates, err := Unnamed(installed, caller)
	if err != nil {
		return nil, nil, err
	}
	return candidates[len(candidates)-1].said, candidates, nil
}

// Chosen is a profile as the launch of one caller takes it.
type Chosen struct {
	*Profile
	// Missing are the variables without a default that the profile refers to and the caller has not set.
	Missing []string
	// LeftOut has a line for each entry that cannot be used for this caller, where the caller speaks for the job. Of what is
	// optional and lacks a variable nothing is said.
	LeftOut []string

	isNamed, speaks bool
}

// Instead returns the built-in profile in the place of one that cannot be used here. It is an error where the caller has
// asked for that one by its name.
func (c Chosen) Instead(why error) (Chosen, error) {
	if c.isNamed || len(c.Files) == 0 {
		return Chosen{}, why
	}
	c.Profile, c.Missing = Default(), nil
	c.passOver(why)
	return c, nil
}

// passOver says why a profile is not taken that nobody has named.
func (c *Chosen) passOver(why error) {
	if c.speaks {
		c.LeftOut = append(c.LeftOut, PassedOver(why))
	}
}

// PassedOver is the line that says why a profile is not taken that nobody has named.
func PassedOver(why error) string {
	return "mpiimport: a profile that nobody named is passed over: " + oneLine(why)
}

// For puts the caller's variables into their places.
func (p *Profile) For(caller []string) (Chosen, error) {
	out := Chosen{Profile: p}
	all, changed := []Value{}, false
	get := func(name string) (string, bool) { return environ.Get(caller, name) }
	for _, v := range p.Values {
		there, err := v.in(get)
		changed = changed || err != nil || there.node != v.node
		if err == nil {
			all = append(all, there)
			continue
		}
		why := err.(unusable)
		if why.unset != "" {
			out.Missing = append(out.Missing, why.unset)
		}
		if rankenv.SpeaksForJob(caller) && (why.unset == "" || !v.isOptional()) {
			out.LeftOut = append(out.LeftOut, fmt.Sprintf("mpiimport: %s:%d: %s is excluded: %s", v.File, v.Line, v.described(), why.reason))
		}
	}
	if !changed {
		return out, nil
	}
	made, err := decode(all, p.Files)
	if err != nil {
		return Chosen{}, err
	}
	made.Locks = p.Locks
	out.Profile = made
	return out, nil
}

// Said is a value, and what becomes of it for a caller whose variables it refers to.
type Said struct {
	Value
	Here    any    `json:"here,omitempty"`     // the value with the variables in their places
	LeftOut string `json:"left_out,omitempty"` // why it cannot be used
}

// Said lists the values, those of the base first.
func (p *Profile) Said(caller []string) []Said {
	out := []Said{}
	get := func(name string) (string, bool) { return environ.Get(caller, name) }
	for _, v := range p.Values {
		said := Said{Value: v}
		if there, err := v.in(get); err != nil {
			said.LeftOut = err.Error()
		} else if there.node != v.node {
			said.Here = there.Value
		}
		out = append(out, said)
	}
	return out
}

// ForAll returns the profile for those who know no caller. It is an error where the profile refers to one's variables.
func (p *Profile) ForAll() (*Profile, error) {
	for _, v := range p.Values {
		asked := ""
		_, _ = v.in(func(name string) (string, bool) {
			asked = name
			return "", false
		})
		if asked != "" {
			return nil, fmt.Errorf("%s:%d: %s refers to the variable %s of a caller, and here is none; write the value itself, in a profile of its own if need be",
				v.File, v.Line, v.described(), asked)
		}
	}
	chosen, err := p.For(nil)
	return chosen.Profile, err
}

func (v Value) isOptional() bool {
	entry, _ := v.Value.(map[string]any)
	optional, _ := entry["optional"].(bool)
	return optional
}

// described names v for a person: an entry of a list by what it brings, too.
func (v Value) described() string {
	switch entry := v.Value.(type) {
	case map[string]any:
		return fmt.Sprintf("%s, %v,", v.Key, entry["source"])
	case string:
		if v.listed {
			return fmt.Sprintf("%s, %s,", v.Key, entry)
		}
	}
	return v.Key
}
