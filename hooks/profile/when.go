package profile

import (
	"cmp"
	"fmt"
	"os"
	"path"
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
}

// Unnamed lists the profiles that are looked at for a caller who names none, up to the one that is taken, which is the last.
func Unnamed(installed string, caller []string) ([]Candidate, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("cannot tell the name of this host: %w; name a profile", err)
	}
	return unnamed(Directories(installed, caller), host, caller)
}

func unnamed(directories []string, host string, caller []string) ([]Candidate, error) {
	found, err := profilefiles.Unnamed(directories)
	if err != nil {
		return nil, err
	}
	out := []Candidate{}
	for _, file := range found {
		p, err := readFile(file)
		if err != nil {
			return nil, err
		}
		conditions := slices.DeleteFunc(slices.Clone(p.Values), func(v Value) bool { return !strings.HasPrefix(v.Key, whenPart) })
		if len(conditions) == 0 && p.Name != DefaultName {
			continue
		}
		why := misfit(conditions, host, caller)
		c := Candidate{p.Name, file, why == "", cmp.Or(why, "all of its `when` fits")}
		if len(conditions) == 0 {
			c.Why = "for nothing else is named"
		}
		if out = append(out, c); c.Taken {
			return out, nil
		}
	}
	return append(out, Candidate{DefaultName, "", true, "for nothing else is named"}), nil
}

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
