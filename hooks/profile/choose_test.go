package profile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// valuesFor returns what a profile says for a caller, and what is excluded, each in one line.
func valuesFor(t *testing.T, body string, caller ...string) ([]string, []string) {
	t.Helper()
	directory := t.TempDir()
	write(t, directory, "site", body)
	p, err := Load("site", []string{directory})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := p.For(caller)
	if err != nil {
		t.Fatal(err)
	}
	said := []string{}
	for _, v := range chosen.Values[3:] {
		said = append(said, fmt.Sprint(v.Key, "=", v.Value))
	}
	leftOut := []string{}
	for _, line := range chosen.LeftOut {
		leftOut = append(leftOut, strings.TrimPrefix(line, "mpiimport: "+directory+"/site.yaml:"))
	}
	return said, leftOut
}

func TestTheCallersVariablesTakeTheirPlacesOnce(t *testing.T) {
	for name, c := range map[string]struct {
		value  string
		caller []string
		want   string
	}{
		"set":                        {"${A}/lib", []string{"A=/a"}, "/a/lib"},
		"empty":                      {"x${A}", []string{"A="}, "x"},
		"a default":                  {"${A:-/tmp}", nil, "/tmp"},
		"a default for an empty one": {"${A:-/tmp}", []string{"A="}, "/tmp"},
		"an empty default":           {"x${A:-}", nil, "x"},
		"not the default":            {"${A:-/tmp}", []string{"A=/a"}, "/a"},
		"several":                    {"${A}${B}:${A}", []string{"A=1", "B=2"}, "12:1"},
		"a dollar":                   {"$$A $${A} $$$${A}", []string{"A=1"}, "$A ${A} $${A}"},
		"a dollar and a variable":    {"$$${A}", []string{"A=1"}, "$1"},
		"what a variable holds":      {"${A}", []string{"A=${B}$$$(id)", "B=1"}, "${B}$$$(id)"},
		"the variable itself":        {"/site:${A}", []string{"A=/mine"}, "/site:/mine"},
		"a dollar in a default":      {"${A:-a$$b}${A:-$$}", nil, "a$b$"},
		"no variable in a default":   {"${A:-$${B}}", []string{"B=b"}, "${B}"},
		"a dollar that is held":      {"${A:-x}", []string{"A=$$"}, "$$"},
		"signs in a default":         {`${A:-b: "c" {d}`, nil, `b: "c" {d`},
	} {
		said, leftOut := valuesFor(t, "environment: {set: {A: '"+c.value+"'}}", c.caller...)
		if !reflect.DeepEqual(said, []string{"environment.set.A=" + c.want}) || len(leftOut) > 0 {
			t.Errorf("%s: %q %q", name, said, leftOut)
		}
	}
}

func TestWhatCannotBeUsedForACallerIsLeftOutWithALine(t *testing.T) {
	body := "environment: {set: {A: '${A}', B: b}, append: {C: '${A}'}}\nmounts:\n- {source: '${A}'}\n- {source: '${A}/b', optional: true}\n- {source: /c}\nservice: {store: '${A}'}\n"
	kept := []string{"environment.set.B=b", "mounts=map[source:/c]"}
	for name, c := range map[string]struct {
		caller  []string
		said    []string
		leftOut []string
	}{
		"unset": {nil, kept, []string{
			"4: environment.set.A is excluded: A is not set; set it, or give it a default there, as in ${A:-VALUE}",
			"4: environment.append.C is excluded: A is not set;",
			"6: mounts, ${A}, is excluded: A is not set;",
			"9: service.store is excluded: A is not set;",
		}},
		"no path": {[]string{"A=a"}, append([]string{"environment.set.A=a", kept[0], "environment.append.C=a"}, kept[1:]...), []string{
			`6: mounts, ${A}, is excluded: it becomes "a", which is not an absolute path`,
			`7: mounts, ${A}/b, is excluded: it becomes "a/b", which is not an absolute path`,
			`9: service.store is excluded: it becomes "a", which is not an absolute path`,
		}},
		"a pattern": {[]string{"A=/a*"}, append(append([]string{"environment.set.A=/a*", kept[0], "environment.append.C=/a*"}, kept[1:]...), "service.store=/a*"), []string{
			"6: mounts, ${A}, is excluded: A has one of * ? [ in it",
			"7: mounts, ${A}/b, is excluded: A has one of * ? [ in it",
		}},
		"not UTF-8": {[]string{"A=/caf\xe9"}, kept, []string{
			`4: environment.set.A is excluded: it becomes "/caf\xe9", which is not UTF-8`, "4: environment.append.C is excluded: ", "6: mounts, ${A}, is excluded: ",
			"7: mounts, ${A}/b, is excluded: ", "9: service.store is excluded: ",
		}},
		"another rank speaks": {[]string{"PMI_RANK=1"}, kept, nil},
	} {
		said, leftOut := valuesFor(t, body, c.caller...)
		if !reflect.DeepEqual(said, c.said) {
			t.Errorf("%s: %q", name, said)
		}
		if len(leftOut) != len(c.leftOut) {
			t.Errorf("%s: %q", name, leftOut)
			continue
		}
		for i, want := range c.leftOut {
			if !strings.HasPrefix(leftOut[i], want) {
				t.Errorf("%s: %q, want %q", name, leftOut[i], want)
			}
		}
	}
}

func TestAnMPIIsBroughtFromWhereTheCallersVariablesSay(t *testing.T) {
	body := "mpi: {inject: {from: '${MPI}/lib', search: ['${FABRIC:-/opt/fabric/*}/lib64', '${MORE}']}}\n"
	for name, c := range map[string]struct {
		caller  []string
		said    []string
		leftOut string
	}{
		"set":       {[]string{"MPI=/opt/cray", "MORE=/m"}, []string{"mpi.inject.from=/opt/cray/lib", "mpi.inject.search=/opt/fabric/*/lib64", "mpi.inject.search=/m"}, ""},
		"unset":     {[]string{"MORE=/m"}, []string{"mpi.inject.search=/opt/fabric/*/lib64", "mpi.inject.search=/m"}, "4: mpi.inject.from is excluded: MPI is not set"},
		"a pattern": {[]string{"MPI=/opt/*", "MORE=/m"}, []string{"mpi.inject.search=/opt/fabric/*/lib64", "mpi.inject.search=/m"}, "4: mpi.inject.from is excluded: MPI has one of * ? ["},
		"no path":   {[]string{"MPI=/opt", "MORE=m"}, []string{"mpi.inject.from=/opt/lib", "mpi.inject.search=/opt/fabric/*/lib64"}, `4: mpi.inject.search, ${MORE}, is excluded: it becomes "m"`},
	} {
		said, leftOut := valuesFor(t, body, c.caller...)
		if got := strings.Join(leftOut, "\n"); !reflect.DeepEqual(said, c.said) || !strings.HasPrefix(got, c.leftOut) || len(leftOut) > 1 {
			t.Errorf("%s: %q %q", name, said, leftOut)
		}
	}
}

// A bind is three words between colons: a value must not become more of them.
func TestNoVariableAddsAWordToABind(t *testing.T) {
	for _, value := range []string{"/a:/etc:rw", "/a,/b", "/a\n/b", `/a"`, "", "/", "a"} {
		said, leftOut := valuesFor(t, "mounts: [{source: '${A}', target: /t}, {source: /s, target: '${A}'}]\n", "A="+value)
		if len(said) > 0 || len(leftOut) != 2 {
			t.Errorf("%q: %q", value, said)
		}
	}
}

func TestAProfileForAllRefersToNobodysVariables(t *testing.T) {
	for body, want := range map[string]string{
		"environment: {set: {A: '$${A} $$'}}":      "",
		"environment: {set: {A: '${A}'}}":          "site.yaml:4: environment.set.A refers to the variable A of a caller",
		"mpi: {inject: {from: '${B}'}}":            "site.yaml:4: mpi.inject.from refers to the variable B of a caller",
		"mounts: [{source: '/a/${B:-b}'}]":         "site.yaml:4: mounts, /a/${B:-b}, refers to the variable B of a caller",
		"container: {options: ['--home=${HOME}']}": "site.yaml:4: container.options, --home=${HOME}, refers to the variable HOME of a caller",
	} {
		p, err := Parse("site.yaml", []byte("schema_version: 1\nname: site\ndescription: a test\n"+body))
		if err != nil {
			t.Fatal(err)
		}
		p, err = p.ForAll()
		if want == "" && (err != nil || p.Environment.Set["A"] != "${A} $") || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
