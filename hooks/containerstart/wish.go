package containerstart

import (
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// The variables that stand for the flag, as others do for the runtimes' own options, the strongest first.
var variables = []string{"APPTAINER_MPIIMPORT", "SINGULARITY_MPIIMPORT"}

// wish is what the caller asks for.
type wish struct {
	wanted  bool
	flagged bool   // by the flag or a variable that stands for it
	profile string // its name; empty where none is named
	odd     string // a value that is not understood
}

// IsAsked says whether the caller has said anything about acceleration that is to be heeded.
func (c Call) IsAsked() bool {
	w := c.wish()
	return w.wanted || w.odd != ""
}

// wish reads the caller's wishes: MPIIMPORT=0 beats the flag, the flag beats its variables, these beat MPIIMPORT. The
// flag's value is the name of a profile, or a truth value.
func (c Call) wish() wish {
	mode, err := ourvars.Switch(c.Env)
	if mode == "0" || !slices.Contains(Actions, c.Action) {
		return wish{}
	}
	if value, asked := c.flag(); asked {
		switch strings.ToLower(value) {
		case "0", "false":
			return wish{}
		case "", "1", "true":
			return wish{wanted: true, flagged: true, profile: c.profileVariable()}
		}
		return wish{wanted: true, flagged: true, profile: value}
	}
	switch {
	case mode == "":
		return wish{}
	case err != nil:
		return wish{odd: err.Error()}
	}
	return wish{wanted: true, profile: c.profileVariable()}
}

func (c Call) flag() (string, bool) {
	if c.Asked {
		return c.Value, true
	}
	for _, variable := range variables {
		if value, _ := environ.Get(c.Env, variable); value != "" {
			return value, true
		}
	}
	return "", false
}

func (c Call) profileVariable() string {
	name, _ := environ.Get(c.Env, ourvars.Profile)
	return name
}

// isVerbose says whether the caller wants to know what is done.
func (c Call) isVerbose() bool {
	said, _ := environ.Get(c.Env, ourvars.Verbose)
	return c.Verbose || isTrue(said)
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "", "0", "f", "false", "n", "no":
		return false
	}
	return true
}
