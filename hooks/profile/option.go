package profile

import (
	"maps"
	"strings"

	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// The options that do not have their key in the section service.
var optionKeys = map[string]string{
	"preload": "mpi.preload", "binding": "mpi.binding", "rank_variables": "launcher.variables",
}

// Options maps the variables of the options that the profile sets to their values.
func (p *Profile) Options() map[string]string {
	values := map[string]string{"preload": strings.Join(p.MPI.Preload, ":"), "binding": p.MPI.Binding}
	if v := p.Launcher.Variables; v.Rank != "" {
		values["rank_variables"] = v.Rank + ":" + v.Size + ":" + v.LocalSize
	}
	maps.Copy(values, p.Service)
	out := map[string]string{}
	for name, value := range values {
		if value != "" {
			out[ourvars.OptionPrefix+strings.ToUpper(name)] = value
		}
	}
	return out
}

// KeyOf returns the key of a profile that sets an option, which is named by its variable; "" when there is none.
func KeyOf(variable string) string {
	name := strings.ToLower(strings.TrimPrefix(variable, ourvars.OptionPrefix))
	if key, elsewhere := optionKeys[name]; elsewhere {
		return key
	}
	if profileShape.find("service").find(name) == nil {
		return ""
	}
	return "service." + name
}

// CanSet says whether a profile may hand this variable into a container under its own name.
func CanSet(variable string) bool {
	return matches(variablePattern, variable) && !matches(reservedPattern, variable)
}
