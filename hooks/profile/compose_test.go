package profile

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// written writes profiles, by their names, and returns their directory.
func written(t *testing.T, bodies map[string]string) string {
	t.Helper()
	directory := t.TempDir()
	for name, body := range bodies {
		write(t, directory, name, body)
	}
	return directory
}

// saidBy returns what a profile says, line by line, without its identity.
func saidBy(p *Profile) []string {
	out := []string{}
	for _, v := range p.Values {
		if !v.isOfOneFile() {
			out = append(out, fmt.Sprint(v.Key, "=", v.Value))
		}
	}
	return out
}

var parts = map[string]string{
	"base":    "environment: {set: {A: base, B: base}}\nmounts: [{source: /base}]",
	"one":     "extends: base\nenvironment: {set: {A: one}}\nmounts: [{source: /one}]",
	"two":     "extends: base\nenvironment: {set: {C: two}}\nmounts: [{source: /two}]",
	"like":    "environment: {set: {A: one}}\nmounts: [{source: /one, optional: true}]",
	"above":   "extends: [one, other]\nenvironment: {set: {A: above}}",
	"other":   "environment: {set: {A: other}}",
	"unsets":  "environment: {unset: [C]}",
	"writes":  "mounts: [{source: /two, options: rw}]",
	"covers":  "mounts: [{source: /elsewhere, target: /two}]",
	"decides": "extends: [two, writes]\nmounts: [{source: /two, options: rw}]",
	"locks":   "environment: {set: {L: locked}}\nlock: [environment.set.L, mounts]",
	"breaks":  "environment: {set: {L: other}}",
	"when":    "when: {hosts: [a]}\nenvironment: {set: {W: w}}",
}

func TestSeveralProfilesHoldTogether(t *testing.T) {
	directory := written(t, parts)
	for asked, want := range map[string]string{
		"one,two":         "mounts=/base environment.set.A=one mounts=/one environment.set.B=base environment.set.C=two mounts=/two",
		"two,one":         "mounts=/base environment.set.C=two mounts=/two environment.set.B=base environment.set.A=one mounts=/one",
		"base,one":        "mounts=/base environment.set.B=base environment.set.A=one mounts=/one",
		"one,base":        "mounts=/base environment.set.A=one mounts=/one environment.set.B=base",
		"base,one,one":    "mounts=/base environment.set.B=base environment.set.A=one mounts=/one",
		"other,default":   "environment.set.A=other",
		"above":           "environment.set.B=base mounts=/base mounts=/one environment.set.A=above",
		"decides":         "environment.set.A=base environment.set.B=base mounts=/base environment.set.C=two mounts=/two mounts=/two",
		"when,other":      "environment.set.W=w environment.set.A=other",
		"./when.yaml,one": "environment.set.W=w environment.set.B=base mounts=/base environment.set.A=one mounts=/one",
	} {
		p, err := Load(strings.Replace(asked, "./", directory+"/", 1), []string{directory})
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		got := []string{}
		for _, v := range p.Values {
			if v.Key == "mounts" {
				got = append(got, "mounts="+v.mount().Source)
			} else if !v.isOfOneFile() {
				got = append(got, fmt.Sprint(v.Key, "=", v.Value))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s", asked, strings.Join(got, " "))
		}
	}
	p, _ := Load("one,two", []string{directory})
	files := []string{filepath.Join(directory, "base.yaml"), filepath.Join(directory, "one.yaml"), filepath.Join(directory, "two.yaml")}
	if p.Name != "one,two" || p.SchemaVersion != 1 || p.Description != "a test a test" || !reflect.DeepEqual(p.Files, files) {
		t.Errorf("%+v", p)
	}
}

func TestWhatContradictsIsAnErrorThatShowsBothPlaces(t *testing.T) {
	directory := written(t, parts)
	for asked, want := range map[string][]string{
		"one,other":     {"one.yaml:5: environment.set.A: one", "other.yaml:4: environment.set.A: other"},
		"other,base":    {"other.yaml:4: environment.set.A: other", "base.yaml:4: environment.set.A: base"},
		"two,unsets":    {"two.yaml:5: environment.set.C: two", "unsets.yaml:4: environment.unset: C"},
		"unsets,two":    {"unsets.yaml:4: environment.unset: C", "two.yaml:5: environment.set.C: two"},
		"two,writes":    {"two.yaml:6: mounts: {source: /two, target: /two, options: ro}", "writes.yaml:4: mounts: {source: /two, target: /two, options: rw}"},
		"covers,two":    {"covers.yaml:4: mounts: {source: /elsewhere, target: /two, options: ro}", "two.yaml:6: mounts: {source: /two, target: /two, options: ro}"},
		"two,one,other": {"one.yaml:5: environment.set.A: one", "other.yaml:4: environment.set.A: other"},
		"above,other":   nil,
		"locks,breaks":  {"locks.yaml:4: environment.set.L: locked", "breaks.yaml:4: environment.set.L: other"},
		"breaks,locks":  {"breaks.yaml:4: environment.set.L: other", "locks.yaml:4: environment.set.L: locked"},
		"locks,two":     {"base.yaml:5: mounts", "changes mounts, which", "locks.yaml locks"},
		"two,locks":     {"base.yaml:5: mounts", "changes mounts, which", "locks.yaml locks"},
		"one,gone":      {`there is no profile "gone"`},
		"one,":          {`"" cannot be the name of a profile`},
		"one, two":      {`" two" cannot be the name of a profile`},
	} {
		_, err := Load(asked, []string{directory})
		if (err == nil) != (want == nil) {
			t.Errorf("%s: %v", asked, err)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v lacks %q", asked, err, part)
			}
		}
	}
}

func TestEveryShippedPartGoesWithEveryShippedProfile(t *testing.T) {
	shipped := []string{"../../mpiimport/profiles"}
	parts, others := []string{}, []string{}
	for _, name := range Names(shipped) {
		p, err := Load(name, shipped)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.Description, "Part: ") {
			parts = append(parts, name)
		} else {
			others = append(others, name)
		}
	}
	if len(parts) != 10 {
		t.Errorf("parts: %v", parts)
	}
	for _, name := range others {
		if _, err := Load(name+","+strings.Join(parts, ","), shipped); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALikeMountOfAnotherPartIsNoContradiction(t *testing.T) {
	directory := written(t, parts)
	if _, err := Load("one,like", []string{directory}); err != nil {
		t.Error(err)
	}
}
