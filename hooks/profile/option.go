package profile

import (
	"regexp"
	"strings"

	"mpiimport.org/hooks/internal/handover"
)

// Option is an option of the import service that a profile sets: its variable, and the key that sets it.
type Option struct {
	Variable, Key, Value string
}

// The options that do not have their key in the section service.
var optionKeys = map[string]string{
	"preload": "mpi.preload", "binding": "mpi.binding", "rank_variables": "launcher.variables",
}

// Options lists the options that the profile sets.
func (p *Profile) Options() []Option {
	values := map[string]string{"preload": strings.Join(p.MPI.Preload, ":"), "binding": p.MPI.Binding}
	if v := p.Launcher.Variables; v.Rank != "" {
		values["rank_variables"] = v.Rank + ":" + v.Size + ":" + v.LocalSize
	}
	for name, value := range p.Service {
		values[name] = value
	}
	out := []Option{}
	for name, value := range values {
		if variable := handover.OptionPrefix + strings.ToUpper(name); value != "" {
			out = append(out, Option{variable, KeyOf(variable), value})
		}
	}
	return out
}

// KeyOf returns the key of a profile that sets an option, which is named by its variable.
func KeyOf(variable string) string {
	name := strings.ToLower(strings.TrimPrefix(variable, handover.OptionPrefix))
	if key, elsewhere := optionKeys[name]; elsewhere {
		return key
	}
	return "service." + name
}

// CanSet says whether a profile may hand this variable into a container under its own name.
func CanSet(variable string) bool {
	return isVariable.MatchString(variable) && !isReserved.MatchString(variable)
}

var isVariable, isReserved = regexp.MustCompile(variablePattern), regexp.MustCompile(reservedPattern)
