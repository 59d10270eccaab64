package ocihook

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/prefix"
	"mpiimport.org/hooks/launch"
)

// checkWhole fails unless the hook refused, changed nothing, or carried out the whole plan and nothing else.
func checkWhole(t testing.TB, text []byte) (changed bool) {
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
	old, _ := parse(text)
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

// withDevice is the same with a device.
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

// isStarted says whether something of ours is in the command's way: the entry binary, the start script or sitecustomize.
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

func TestTenThousandRandomEditsNeverEndInAHalfEditedContainer(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	changed := 0
	for range 10_000 {
		text := with(t, func(c map[string]any) {
			annotate([]string{"default", "site"}[random.Intn(2)])(c)
			if random.Intn(2) == 0 {
				object(c, "process")["env"] = []string{"PATH=/bin", "PMI_RANK=0"}
			}
			for range 1 + random.Intn(4) {
				damage(random, c, 0)
			}
		})
		if random.Intn(4) == 0 {
			text[random.Intn(len(text))] = byte(random.Intn(256))
		}
		if checkWhole(t, text) {
			changed++
		}
	}
	if changed < 1000 || changed > 9900 {
		t.Errorf("%d of 10,000 were carried out: the edits say little", changed)
	}
}

// odd returns a value that stands where something else is expected.
func odd(random *rand.Rand) any {
	values := []any{
		nil, true, 0, -1, 1.5, "", "x", "/", "../..", "\x00", "A=B", []any{}, []any{"x"}, []any{nil}, map[string]any{}, map[string]any{"x": 1},
	}
	return values[random.Intn(len(values))]
}

// damage changes one value somewhere in a tree.
func damage(random *rand.Rand, tree any, depth int) {
	switch node := tree.(type) {
	case map[string]any:
		names := []string{}
		for name := range node {
			names = append(names, name)
		}
		if len(names) == 0 {
			return
		}
		slices.Sort(names)
		name := names[random.Intn(len(names))]
		if depth < 3 && random.Intn(3) > 0 {
			damage(random, node[name], depth+1)
			return
		}
		switch random.Intn(4) {
		case 0:
			delete(node, name)
		case 1:
			node[name+"x"] = node[name]
		default:
			node[name] = odd(random)
		}
	case []any:
		if len(node) > 0 && random.Intn(2) > 0 {
			damage(random, node[random.Intn(len(node))], depth+1)
		} else if len(node) > 0 {
			node[random.Intn(len(node))] = odd(random)
		}
	}
}

func FuzzPrecreate(f *testing.F) {
	f.Add(with(f, annotate("site")))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"default"},"process":{"args":["python"],"env":["PMI_RANK=1"]},"linux":{"namespaces":[{"type":"pid"}]}}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"default"},"process":{"args":["a"]}}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"site"},"process":{"args":["a"]},"linux":null}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","annotations":{"org.mpiimport.profile":"site"},"process":{"args":["a"]},"linux":{"resources":null,"devices":null}}`))
	f.Add([]byte(`{"ociVersion":"1.0.0","Process":{"args":["a"]},"annotations":{"org.mpiimport.profile":"default"},"process":{"args":["a"],"Env":null}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if json.Valid(text) || len(text) < 1<<16 {
			checkWhole(t, text)
		}
	})
}
