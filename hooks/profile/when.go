package profile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/profilefiles"
)

// queueVariables hold the partition or queue of a job: of Slurm, PBS and LSF. Flux says it in none.
var queueVariables = []string{"SLURM_JOB_PARTITION", "PBS_QUEUE", "LSB_QUEUE"}

// Candidate is a profile that is looked at where none is named.
type Candidate struct {
	Profile string `json:"profile"`
	File    string `json:"file"` // empty for the built-in default
	Taken   bool   `json:"taken"`
	Why     string `json:"why"`

	said   *Profile // of the one that is taken
	broken error
}

// Unnamed lists the profiles that are looked at for a caller who names none, up to the one that is taken, which is the last.
// Nobody has asked for any of them, so one that is broken is passed over.
func Unnamed(installed string, caller []string) ([]Candidate, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("cannot tell the name of this host: %w; name a profile", err)
	}
	return unnamed(Directories(installed, caller), host, caller), nil
}

func unnamed(directories []string, host string, caller []string) []Candidate {
	out, masked := []Candidate{}, map[string]bool{}
	found, err := profilefiles.Unnamed(directories)
	if err != nil {
		out = append(out, passedOver("profiles", "", err))
	}
	for _, candidate := range found {
		name := strings.TrimSuffix(filepath.Base(candidate.File), ".yaml")
		if masked[name] {
			continue
		}
		c, isOne, err := consider(name, candidate, directories, host, caller)
		if err != nil {
			out = append(out, passedOver(name, candidate.File, err))
			continue
		}
		masked[name] = true
		if !isOne {
			continue
		}
		if out = append(out, c); c.Taken {
			return out
		}
	}
	return append(out, Candidate{Profile: DefaultName, Taken: true, Why: "for nothing else is named", said: Default()})
}

// consider reads a profile. The second result says whether it is one that may be taken unnamed.
func consider(name string, candidate profilefiles.Candidate, directories []string, host string, caller []string) (Candidate, bool, error) {
	p, err := readFile(candidate.File)
	if err != nil {
		return Candidate{}, false, err
	}
	conditions := slices.DeleteFunc(slices.Clone(p.Values), func(v Value) bool { return !strings.HasPrefix(v.Key, whenPart) })
	if len(conditions) == 0 && name != DefaultName {
		return Candidate{}, false, nil
	}
	c := Candidate{Profile: name, File: candidate.File, Why: misfit(conditions, host, caller)}
	if c.Why != "" {
		return c, true, nil
	}
	c.Taken, c.Why = true, "all of its `when` fits"
	if len(conditions) == 0 {
		c.Why = "for nothing else is named"
	}
	c.said, err = search{directories: directories[:candidate.Places]}.load(name, nil)
	return c, true, err
}

func passedOver(name, file string, why error) Candidate {
	return Candidate{Profile: name, File: file, Why: "it is broken: " + oneLine(why), broken: why}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

const whenPart = "when."

// misfit returns the first of the conditions that does not hold, and why; "" where all of them do.
func misfit(conditions []Value, host string, caller []string) string {
	short, _, _ := strings.Cut(host, ".")
	for _, v := range conditions {
		found := []string{host, short}
		what := "this host is " + host
		switch name, isVariable := strings.CutPrefix(v.Key, whenPart+"variables."); {
		case isVariable:
			value, isSet := environ.Get(caller, name)
			found, what = []string{value}, fmt.Sprintf("%s is %q", name, value)
			if !isSet {
				found, what = nil, name+" is not set"
			}
		case v.Key == whenPart+"partition":
			found, what = queue(caller)
		}
		if !slices.ContainsFunc(found, v.fits) {
			return fmt.Sprintf("%s, and %s wants %v (line %d)", what, v.Key, v.Value, v.Line)
		}
	}
	return ""
}

func queue(caller []string) ([]string, string) {
	for _, name := range queueVariables {
		if value, isSet := environ.Get(caller, name); isSet {
			return []string{value}, fmt.Sprintf("%s is %q", name, value)
		}
	}
	return nil, "none of " + strings.Join(queueVariables, ", ") + " is set"
}

// fits says whether a text is what v wants: its pattern, or one of its patterns.
func (v Value) fits(text string) bool {
	// A * stands for any letters, slashes too.
	plain := strings.NewReplacer("/", "\x00")
	return slices.ContainsFunc(v.patterns(), func(pattern any) bool {
		matches, _ := path.Match(plain.Replace(pattern.(string)), plain.Replace(text))
		return matches
	})
}

func (v Value) patterns() []any {
	if list, isList := v.Value.([]any); isList {
		return list
	}
	return []any{v.Value}
}

// oddCondition returns an error where a condition could never hold, for its pattern is none.
func oddCondition(said []Value) error {
	for _, v := range said {
		for _, pattern := range v.patterns() {
			if !strings.HasPrefix(v.Key, whenPart) {
				continue
			}
			if _, err := path.Match(pattern.(string), ""); err != nil {
				return fmt.Errorf("%s:%d: %s: the pattern %v is not understood: %w; close its brackets", v.File, v.Line, v.Key, pattern, err)
			}
		}
	}
	return nil
}
