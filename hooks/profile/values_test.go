package profile

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestEveryValueIsTracedToItsFileAndLine(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "base", "hosts: [a]\nmounts: [{source: /a}]\nenvironment:\n  set: {A: base, B: base, U: base}\n  unset: [V]\n")
	write(t, directory, "site", "extends: base\nhosts: [b, c]\nmounts: [{source: /a}, {source: /b}]\nenvironment:\n  set: {B: site, V: site}\n  unset: [U]\ncontainer: {per_node: true}\n")
	p, err := Load("site", []string{directory})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, v := range p.Values {
		if !strings.Contains("schema_version name description extends", v.Key) {
			got = append(got, fmt.Sprintf("%s=%v %s:%d", v.Key, v.Value, filepath.Base(v.File), v.Line))
		}
	}
	want := []string{
		"mounts=map[source:/a] base.yaml:5",
		"environment.set.A=base base.yaml:7",
		"hosts=[b c] site.yaml:5",
		"mounts=map[source:/b] site.yaml:6",
		"environment.set.B=site site.yaml:8",
		"environment.set.V=site site.yaml:8",
		"environment.unset=U site.yaml:9",
		"container.per_node=true site.yaml:10",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func TestAUserNamespaceHasAllOfTheEnvironment(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "base", "environment: {set: {A: '1', B: '1'}, unset: [C]}\nuser_namespace: {environment: {set: {D: base}}}\n")
	write(t, directory, "site", "extends: base\nenvironment: {set: {E: site}}\nuser_namespace: {environment: {set: {C: '2'}, unset: [A]}}\n")
	p, err := Load("site", []string{directory})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Environment; !reflect.DeepEqual(e.Set, map[string]string{"A": "1", "B": "1", "E": "site"}) || strings.Join(e.Unset, " ") != "C" {
		t.Errorf("outside: %+v", e)
	}
	inside := map[string]string{"B": "1", "C": "2", "D": "base", "E": "site"}
	if e := p.UserNamespace.Environment; !reflect.DeepEqual(e.Set, inside) || strings.Join(e.Unset, " ") != "A" {
		t.Errorf("inside: %+v", e)
	}
}

func TestOfSomeKeysTheExtendingProfileSaysTheWhole(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "base", "hosts: [a]\nhost_variables: {A: a}\nlauncher: {prefix: [srun, --mpi=pmi2]}\nmpi: {preload: [liba.so]}\n")
	write(t, directory, "site", "extends: base\nhosts: [b]\nhost_variables: {B: b}\nlauncher: {prefix: [srun, --mpi=pmix]}\nmpi: {preload: [libb.so]}\n")
	p, err := Load("site", []string{directory})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Hosts, p.HostVariables, p.Launcher.Prefix, p.MPI.Preload); got != "[b] map[B:b] [srun --mpi=pmix] [liba.so libb.so]" {
		t.Error(got)
	}
}

func TestADefaultAndAnotherWayToChangeAVariableReplaceEachOther(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "base", "environment: {default: {A: base, B: base, C: base, D: base, E: base}, set: {F: base}, unset: [G]}\n")
	write(t, directory, "site", "extends: base\nenvironment: {default: {B: site, F: site, G: site}, set: {A: site}, append: {C: site}, unset: [D], keep: [E]}\n"+
		"user_namespace: {environment: {set: {B: inside}}}\n")
	p, err := Load("site", []string{directory})
	if err != nil {
		t.Fatal(err)
	}
	want := Environment{
		Set: map[string]string{"A": "site"}, Default: map[string]string{"B": "site", "E": "base", "F": "site", "G": "site"},
		Append: map[string]string{"C": "site"}, Keep: []string{"E"}, Unset: []string{"D"},
	}
	if !reflect.DeepEqual(p.Environment, want) {
		t.Errorf("outside: %+v", p.Environment)
	}
	want.Set, want.Default = map[string]string{"A": "site", "B": "inside"}, map[string]string{"E": "base", "F": "site", "G": "site"}
	if !reflect.DeepEqual(p.UserNamespace.Environment, want) {
		t.Errorf("inside: %+v", p.UserNamespace.Environment)
	}
}
