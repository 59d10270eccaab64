package launch

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/profile"
)

// Runtime says how Apptainer or SingularityCE will treat the environment of one start.
type Runtime struct {
	Flavour  string // apptainer, singularityce, or empty where it is not known
	CleanEnv bool   // the caller's own variables do not enter the container
	NoEval   bool   // values are taken literally instead of being evaluated by a shell
}

// prefixes mark the variables that are handed into the container, the strongest first. Apptainer reads both, so
// both serve where the flavour is unknown.
func (r Runtime) prefixes() []string {
	if r.Flavour == "singularityce" {
		return []string{"SINGULARITYENV_"}
	}
	return []string{"APPTAINERENV_", "SINGULARITYENV_"}
}

// ContainerEnvironment returns the process environment that makes the runtime carry out the plan. What the caller
// hands in for a variable by the same means wins, as --env does. The second result names variables that this
// runtime cannot change.
func (p Plan) ContainerEnvironment(env []string, r Runtime) ([]string, []string) {
	skipped := []string{}
	edited := environ.Edit(env)
	for _, v := range p.Changes(env, r.CleanEnv) {
		if v.Change == Default && r.hasAlready(edited, v.Name) {
			continue
		}
		isPath := v.Name == "PATH" && (v.Change == Append || v.Change == Prepend)
		if isPath {
			// The runtimes have names of their own for lengthening PATH.
			v.Name = strings.ToUpper(string(v.Change)) + "_PATH"
		}
		given, isGiven := "", false
		for _, prefix := range r.prefixes() {
			if value, ok := edited.Get(prefix + v.Name); ok && !isGiven {
				given, isGiven = value, true
			}
		}
		value, ok := "", true
		if isPath {
			value = v.joined(given, r.literal(v.Value))
		} else {
			value, ok = r.value(v, given, isGiven, r.hostValue(edited, v.Name))
		}
		if !ok {
			skipped = append(skipped, v.Name)
			continue
		}
		for i, prefix := range r.prefixes() {
			// Apptainer warns of two different values, and an unknown runtime may read only one of the two.
			if i == 0 || r.Flavour == "" {
				edited.Set(prefix+v.Name, value)
			} else {
				edited.Unset(prefix + v.Name)
			}
		}
	}
	return edited.Environment(), skipped
}

// Changes names the variables of env that are kept where the environment is cleaned, and adds what the entry binary has to
// finish: the runtimes can empty a variable, but not remove it.
func (p Plan) Changes(env []string, cleaned bool) []Variable {
	out, kept, unset := []Variable{}, []Variable{}, []string{}
	for _, v := range p.Environment {
		if v.Change == Keep && cleaned {
			kept = append(kept, p.kept(v.Name, env)...)
		}
	}
	for _, v := range p.Environment {
		isKept := func(k Variable) bool { return k.Name == v.Name }
		if v.Change == Keep || v.Change == Default && slices.ContainsFunc(kept, isKept) {
			continue
		}
		out = append(out, v)
		if v.Change == Unset {
			unset = append(unset, v.Name)
		}
	}
	out = append(out, kept...)
	if len(unset) > 0 {
		out = append(out, Variable{ourvars.Unset, strings.Join(unset, ":"), Set})
	}
	return out
}

// kept returns the variables in env that match pattern, that may be handed in, and of which the plan says no more than
// a default.
func (p Plan) kept(pattern string, env []string) []Variable {
	out := []Variable{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		known := slices.ContainsFunc(p.Environment, func(v Variable) bool {
			return v.Name == name && v.Change != Keep && v.Change != Default
		})
		if matches, _ := path.Match(pattern, name); matches && !known && profile.CanSet(name) {
			out = append(out, Variable{name, value, Set})
		}
	}
	return out
}

// IfUnset returns variables as they are handed in where nobody asked for them: what the caller or the image says wins.
// Without evaluation the image is not asked.
func (r Runtime) IfUnset(variables []Variable, caller []string) []Variable {
	env, out := environ.Edit(caller), []Variable{}
	for _, v := range variables {
		switch {
		case v.Change == Set && !r.NoEval:
			v.Change = Default
		case r.hasAlready(env, v.Name):
			continue
		}
		out = append(out, v)
	}
	return out
}

// entersAlways lists the caller's variables that the runtimes hand into a container whose environment is cleaned, too.
var entersAlways = strings.Fields(`TERM http_proxy HTTP_PROXY https_proxy HTTPS_PROXY no_proxy NO_PROXY all_proxy ALL_PROXY
	ftp_proxy FTP_PROXY`)

// enters says whether the container gets a variable of the caller's where nothing is said of it.
func (r Runtime) enters(name string) bool {
	return name != "LD_LIBRARY_PATH" && name != "PATH" && (!r.CleanEnv || slices.Contains(entersAlways, name))
}

// hasAlready says whether a variable will be set in the container, as far as that is known out here.
func (r Runtime) hasAlready(env *environ.Editor, name string) bool {
	_, isSet := env.Get(name)
	return name == "PATH" || isSet && r.enters(name)
}

// hostValue is what the container would have got from the caller if its image said nothing, as a shell's default value.
func (r Runtime) hostValue(env *environ.Editor, name string) string {
	if !r.enters(name) {
		return ""
	}
	value, _ := env.Get(name)
	return defaultValue(value)
}

// joined adds the element to a list, once.
func (v Variable) joined(list, element string) string {
	switch {
	case list == "":
		return element
	case v.Change == Append && list != element && !strings.HasSuffix(list, ":"+element):
		return list + ":" + element
	case v.Change == Prepend && list != element && !strings.HasPrefix(list, element+":"):
		return element + ":" + list
	}
	return list
}

// value writes one change the way the runtime evaluates it: as a shell does between double quotes. The value of
// the image is only known there, so without evaluation a list cannot be lengthened.
func (r Runtime) value(v Variable, given string, isGiven bool, host string) (string, bool) {
	literal := r.literal(v.Value)
	switch v.Change {
	case Set, Unset:
		if isGiven && !ourvars.IsOurs(v.Name) {
			return given, true
		}
		return literal, true
	case Default:
		if isGiven {
			return given, true
		}
		return "${" + v.Name + "-" + defaultValue(v.Value) + "}", !r.NoEval
	case Pid:
		return "$$", !r.NoEval
	case Prepend:
		switch {
		case isGiven && strings.HasPrefix(given, literal+"$"):
			return given, true
		case isGiven:
			return v.joined(given, literal), true
		case host != "":
			return literal + ":${" + v.Name + ":-" + host + "}", !r.NoEval
		}
		return literal + "${" + v.Name + ":+:$" + v.Name + "}", !r.NoEval
	case Append:
		switch {
		case isGiven && strings.HasSuffix(given, "}"+literal):
			return given, true
		case isGiven:
			return v.joined(given, literal), true
		case host != "":
			return "${" + v.Name + ":-" + host + "}:" + literal, !r.NoEval
		}
		return "${" + v.Name + ":+$" + v.Name + ":}" + literal, !r.NoEval
	}
	return "", false
}

// literal writes a value so that the container gets it as it is.
func (r Runtime) literal(value string) string {
	if r.NoEval {
		return value
	}
	return quote(value)
}

// quote keeps a shell from evaluating the value; the runtime itself escapes double quotes. The runtimes' shell makes one of
// several backslashes in a row, and none where they precede a $, so each is written as its number.
func quote(value string) string {
	return strings.NewReplacer(`\`, asNumber('\\'), `$`, `\$`, "`", "\\`").Replace(value)
}

func asNumber(character byte) string { return fmt.Sprintf(`$(printf '\%03o')`, character) }

// defaultValue writes a value for ${NAME:-VALUE} or ${NAME-VALUE}. There the runtimes' shell takes a backslash as it is,
// so what has a meaning is written as its number.
func defaultValue(value string) string {
	out := strings.Builder{}
	for i := range len(value) {
		if strings.IndexByte("\\$`\"'{}", value[i]) >= 0 {
			out.WriteString(asNumber(value[i]))
		} else {
			out.WriteByte(value[i])
		}
	}
	return out.String()
}
