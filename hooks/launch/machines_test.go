package launch

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/profile"
)

var update = flag.Bool("update", false, "write tests/support/machines/*/plans.json anew")

const machines = "../../tests/support/machines"

// condensed is a plan as one line for each mount and variable.
type condensed struct {
	Mounts      []string `json:"mounts"`
	Devices     []string `json:"devices"`
	Environment []string `json:"environment"`
	Entry       []string `json:"entry"`
	Launcher    []string `json:"launcher"`
	Options     []string `json:"options"`
	PerNode     bool     `json:"per_node"`
}

func condense(plan Plan) condensed {
	out := condensed{Devices: plan.Devices, Entry: plan.Entry, Launcher: plan.Launcher, Options: plan.Options, PerNode: plan.PerNode}
	for _, m := range plan.Mounts {
		out.Mounts = append(out.Mounts, m.Bind())
	}
	for _, v := range plan.Environment {
		out.Environment = append(out.Environment, string(v.Change)+" "+v.Name+"="+v.Value)
	}
	return out
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// onMachine is the request of a rank on one of the machines.
func onMachine(t *testing.T, directory string) Request {
	paths := lines(t, filepath.Join(directory, "paths"))
	return Request{
		Prefix:        "/sw/mpiimport",
		Command:       []string{"python", "app.py"},
		UserNamespace: true,
		Environ:       lines(t, filepath.Join(directory, "environment")),
		Exists:        func(name string) bool { return slices.Contains(paths, name) },
		IsDevice:      func(name string) bool { return slices.Contains(paths, name) },
		Glob: func(pattern string) ([]string, error) {
			found := []string{}
			for _, name := range paths {
				matches, err := path.Match(pattern, name)
				if err != nil {
					return nil, err
				}
				if matches {
					found = append(found, name)
				}
			}
			return found, nil
		},
	}
}

func TestPlansOnMachines(t *testing.T) {
	shipped := []string{filepath.Join("..", "..", "mpiimport", "profiles")}
	directories, _ := filepath.Glob(filepath.Join(machines, "*", "paths"))
	if len(directories) < 6 {
		t.Fatalf("machines are missing in %s", machines)
	}
	for _, file := range directories {
		directory := filepath.Dir(file)
		plans := map[string]condensed{}
		for _, name := range profile.Names(shipped) {
			p, err := profile.Load(name, shipped)
			if err != nil {
				t.Fatal(err)
			}
			chosen, err := p.For(onMachine(t, directory).Environ)
			if err != nil || len(chosen.LeftOut) > 0 {
				t.Fatalf("%s with %s: %v %v", directory, name, chosen.LeftOut, err)
			}
			plan, err := Resolve(chosen.Profile, onMachine(t, directory))
			if err != nil {
				t.Fatalf("%s with %s: %v", directory, name, err)
			}
			plans[name] = condense(plan)
		}
		comparePlans(t, filepath.Join(directory, "plans.json"), plans)
	}
}

func comparePlans(t *testing.T, file string, plans map[string]condensed) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(plans); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(have, text.Bytes()) {
		t.Errorf("%s is out of date (%v); look at what `go test ./launch -run Machines -update` changes", file, err)
	}
}
