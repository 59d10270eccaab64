package ocihook

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/launch"
)

// checkWhole fails unless the hook refused, changed nothing, or carried out the whole plan and nothing else.
func checkWhole(t *testing.T, text []byte) (changed bool) {
	t.Helper()
	out, err := Precreate(text, host(withDevice))
	var unchanged Unchanged
	switch {
	case errors.As(err, &unchanged) || (err == nil && bytes.Equal(out, text)):
		if !bytes.Equal(out, text) {
			t.Fatalf("%v, and still changed:\n%s\n%s", err, text, out)
		}
		return false
	case err != nil:
		if out != nil {
			t.Fatalf("%v, and still a configuration: %s", err, out)
		}
		return false
	}
	before, after := decode(t, text), decode(t, out)
	c, failed := parse(out)
	if failed != nil || !isStarted(c) || c.mountAt(launch.Inside) < 0 || !slices.Contains(c.env, "MPIIMPORT_PROFILE="+c.annotations[ProfileAnnotation]) {
		t.Fatalf("half edited: %v\n%s\n%s", failed, text, out)
	}
	fuzzing.HandOver(t, "configurations", map[string][]byte{"before": text, "after": out})
	old, _ := parse(text)
	if !utf8.Valid(text) {
		t.Fatalf("bytes that JSON cannot say are replaced: %q", text)
	}
	for _, entry := range old.env {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(changedVariables, name) && !slices.Contains(c.env, entry) {
			t.Fatalf("%q is lost: %q", entry, c.env)
		}
	}
	if !slices.Equal(withoutOurs(c.args), withoutOurs(old.args)) {
		t.Fatalf("the command changed: %q, %q", old.args, c.args)
	}
	if c.annotations[ProfileAnnotation] == "site" && !hasDevice(after, c) {
		t.Fatalf("without the device: %s\n%s", text, out)
	}
	for _, whole := range []map[string]any{before, after} {
		withoutDevices(whole)
		delete(object(whole, "process"), "args")
		delete(object(whole, "process"), "env")
		delete(whole, "mounts")
	}
	if !reflect.DeepEqual(before, after) {
		t.Fatalf("something else changed:\n%s\n%s", text, out)
	}
	return true
}

// changedVariables are those that the plans of these tests change, and mpiimport's own.
var changedVariables = []string{"A", "B", "U", "LD_LIBRARY_PATH", "PYTHONPATH", "MPIIMPORT", "MPIIMPORT_PROFILE", "_MPIIMPORT_APPLIED",
	"_MPIIMPORT_PID", "_MPIIMPORT_START", "MPIIMPORT_STORE", "_MPIIMPORT_PLAN", "_MPIIMPORT_UNSET"}

// withDevice adds a device to it.
var withDevice = site[:len(site)-1] + ", devices: [{path: /dev/null}]}"

// hasDevice says whether a configuration lets the container use the device.
func hasDevice(whole map[string]any, c *config) bool {
	if c.mountAt("/dev/null") >= 0 {
		return true
	}
	linux, _ := whole["linux"].(map[string]any)
	nodes, _ := linux["devices"].([]any)
	return slices.ContainsFunc(nodes, func(node any) bool {
		text, _ := json.Marshal(node)
		return isAt(text, "/dev/null")
	})
}

// withoutDevices removes what says which devices there are, and what is empty without it.
func withoutDevices(whole map[string]any) {
	linux, _ := whole["linux"].(map[string]any)
	resources, _ := linux["resources"].(map[string]any)
	delete(resources, "devices")
	delete(linux, "devices")
	if len(resources) == 0 {
		delete(linux, "resources")
	}
	if len(linux) == 0 {
		delete(whole, "linux")
	}
}

// isStarted says whether something of mpiimport is in the command's way: the entry binary, the start script or sitecustomize.
func isStarted(c *config) bool {
	path, _ := environ.Get(c.env, "PYTHONPATH")
	return slices.Contains(c.args, launch.EntryPath) || slices.Contains(c.args, startScript) || strings.HasPrefix(path, launch.SitePath)
}

var startScript = prefix.StartScript(launch.Inside)

// withoutOurs returns a command without the words that the hook may add.
func withoutOurs(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return slices.Contains([]string{launch.EntryPath, "--no-init", "-S", startScript}, word)
	})
}

func TestNothingElseOfTheConfigurationChanges(t *testing.T) {
	for _, name := range []string{"default", "site"} {
		if !checkWhole(t, with(t, annotate(name))) {
			t.Errorf("%s: the plan was not carried out", name)
		}
	}
	out, err := Precreate(with(t, annotate("default")), host(""))
	// As text: numbers that no machine type holds, and what belongs to a mount.
	for _, text := range []string{`"exact":1.10`, `"big":12345678901234567890123`, `"newer":18446744073709551615`, `"newer":{"a":1}`, `"<&>"`} {
		if err != nil || !bytes.Contains(out, []byte(text)) {
			t.Errorf("%v, %s is gone: %s", err, text, out)
		}
	}
}

// What is damaged is left as it is, or edited as a whole; what a runtime takes before the edit it takes after it.
func FuzzDamagedConfigurations(f *testing.F) {
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		text := with(t, func(c map[string]any) {
			annotate(fuzzing.One(chance, "default", "site"))(c)
			env := []string{"PATH=/bin", "PMI_RANK=0", "X=" + chance.Text(20)}
			if chance.In(2) {
				object(c, "process")["env"] = env
			}
			for range chance.Below(5) {
				damage(chance, c, 0)
			}
		})
		if chance.In(4) {
			text[chance.Below(len(text))] = byte(chance.Below(256))
		}
		return checkWhole(t, text)
	})
}

// odd returns a value that stands where something else is expected.
func odd(chance *fuzzing.Chance) any {
	return fuzzing.One[any](chance, nil, true, 0, -1, 1.5, "", "x", "/", "../..", "\x00", "A=B", []any{}, []any{"x"}, []any{nil}, map[string]any{}, map[string]any{"x": 1},
		"/.mpiimport", "/dev/null", []any{"python", "app.py"}, []any{"PMI_RANK=1", "PMI_RANK=2", "A"}, "true", json.Number("18446744073709551616"), chance.Text(5))
}

// damage changes one value somewhere in a tree.
func damage(chance *fuzzing.Chance, tree any, depth int) {
	switch node := tree.(type) {
	case map[string]any:
		if len(node) == 0 {
			return
		}
		name := fuzzing.One(chance, slices.Sorted(maps.Keys(node))...)
		if depth < 4 && !chance.In(3) {
			damage(chance, node[name], depth+1)
			return
		}
		switch chance.Below(4) {
		case 0:
			delete(node, name)
		case 1:
			node[fuzzing.One(chance, name+"x", strings.ToUpper(name))] = node[name]
		default:
			node[name] = odd(chance)
		}
	case []any:
		if len(node) > 0 && chance.In(2) {
			damage(chance, fuzzing.One(chance, node...), depth+1)
		} else if len(node) > 0 {
			node[chance.Below(len(node))] = odd(chance)
		}
	}
}

func FuzzPrecreate(f *testing.F) {
	f.Add(with(f, annotate("site")))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"default"},"process":{"args":["python"],"env":["PMI_RANK=1"]},"linux":{"namespaces":[{"type":"pid"}]}}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"default"},"process":{"args":["a"]}}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"default"},"process":{"args":["a"],"env":["X=` + "\xff" + `"]}}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"site"},"process":{"args":["a"]},"linux":null}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"site"},"process":{"args":["a"]},"linux":{"resources":null,"devices":null}}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","Process":{"args":["a"]},"annotations":{"org.mpiimport.profile":"default"},"process":{"args":["a"],"Env":null}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if json.Valid(text) || len(text) < 1<<16 {
			checkWhole(t, text)
		}
	})
}
