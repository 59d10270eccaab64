package ocihook

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// site is a profile that changes the environment in every way.
const site = `{schema_version: 1, name: site, description: d, environment: {set: {A: '1'}, default: {D: '1', E: '1'}, append: {LD_LIBRARY_PATH: /site/lib}, unset: [B]},
 mounts: [{source: /usr, target: /data, options: rw}], user_namespace: {environment: {set: {U: '1'}}}}`

func host(text string) Host {
	return Host{Prefix: "/sw/mpiimport", Profile: func(name string) (*profile.Profile, error) {
		if name == "default" {
			return profile.Default(), nil
		}
		return profile.Parse(name+".yaml", []byte(text))
	}}
}

// captured is what podman gave to a hook, with members that nobody knows yet.
func captured(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/podman-4.3.1.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// with returns the captured configuration after a change.
func with(t testing.TB, change func(c map[string]any)) []byte {
	c := decode(t, captured(t))
	change(c)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t testing.TB, text []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	c := map[string]any{}
	if err := decoder.Decode(&c); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return c
}

func object(c map[string]any, name string) map[string]any { return c[name].(map[string]any) }

func annotate(name string) func(map[string]any) {
	return func(c map[string]any) { object(c, "annotations")[ProfileAnnotation] = name }
}

func edited(t testing.TB, text []byte, h Host) *config {
	t.Helper()
	out, err := Precreate(text, h)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parse(out)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestThePlanIsCarriedOut(t *testing.T) {
	c := edited(t, with(t, func(c map[string]any) {
		annotate("site")(c)
		object(c, "process")["env"] = []string{"B=1", "A=image", "D=", "LD_LIBRARY_PATH=/image/lib", "MPIIMPORT=force"}
	}), host(site))
	if want := []string{"python3", "app.py", "<&>"}; !slices.Equal(c.args, want) {
		t.Errorf("%q", c.args)
	}
	want := []string{"A=1", "D=", "LD_LIBRARY_PATH=/image/lib:/site/lib", "MPIIMPORT=force", "MPIIMPORT_PROFILE=site", "_MPIIMPORT_APPLIED=site", "E=1", "MPIIMPORT_STORE=/.mpiimport-store", "PYTHONPATH=" + launch.SitePath}
	if !slices.Equal(c.env, want) {
		t.Errorf("%q", c.env)
	}
	got := map[string]string{}
	for _, m := range c.mounts {
		got[m.Destination] = m.Type + " " + m.Source + " " + strings.Join(m.Options, ",")
	}
	for target, want := range map[string]string{
		"/.mpiimport":       "bind /sw/mpiimport rbind,rprivate,nosuid,nodev,ro",
		"/data":             "bind /usr rbind,rprivate,nosuid,nodev,rw",
		"/.mpiimport-store": "tmpfs tmpfs rw,nosuid,nodev,exec,mode=1777",
	} {
		if got[target] != want {
			t.Errorf("%s: %q, want %q", target, got[target], want)
		}
	}
}

func TestAMountDoesNotHideOnesBelowIt(t *testing.T) {
	c := edited(t, with(t, annotate("site")), host(site))
	places := []string{}
	for _, m := range c.mounts {
		places = append(places, m.Destination)
	}
	if slices.Index(places, "/data") > slices.Index(places, "/data/deep") {
		t.Errorf("%q", places)
	}
}

func TestAMountReplacesTheOneAtItsPlace(t *testing.T) {
	c := edited(t, with(t, func(c map[string]any) {
		annotate("site")(c)
		c["mounts"] = []map[string]string{{"destination": "/data/deep"}, {"destination": "/data/", "source": "/old"}}
	}), host(site))
	if c.mounts[1].Source != "/usr" || len(c.mounts) != 4 {
		t.Errorf("%+v", c.mounts)
	}
}

func TestContainersThatShareTheHostsIpcKeepTheirStoreOnTheHost(t *testing.T) {
	c := edited(t, with(t, func(c map[string]any) {
		annotate("default")(c)
		object(c, "linux")["namespaces"] = []map[string]string{{"type": "mount"}}
	}), host(""))
	last := c.mounts[len(c.mounts)-1]
	if last.Source != "/dev/shm" || last.Destination != "/.mpiimport-store" {
		t.Errorf("%+v", last)
	}
}

func TestAUserNamespaceCounts(t *testing.T) {
	for name, c := range map[string]struct {
		own, container bool
	}{"none": {}, "the hook's own": {own: true}, "the container's": {container: true}} {
		h := host(site)
		h.UserNamespace = c.own
		got := edited(t, with(t, func(whole map[string]any) {
			annotate("site")(whole)
			if c.container {
				object(whole, "linux")["namespaces"] = []map[string]string{{"type": "user"}}
			}
		}), h)
		if slices.Contains(got.env, "U=1") != (c.own || c.container) {
			t.Errorf("%s: %q", name, got.env)
		}
	}
}

func TestHowTheCommandStarts(t *testing.T) {
	early := []string{"python3", "-S", startScript, "app.py"}
	binary := []string{launch.EntryPath, "--no-init", "python3", "app.py"}
	for name, c := range map[string]struct {
		env, init []string
		pid       map[string]string // the pid namespace
		want      []string
		wantPid   string
	}{
		"a rank in a pid namespace of its own": {env: []string{"PMI_RANK=0"}, pid: map[string]string{"type": "pid"}, want: early, wantPid: "1"},
		"a rank among the host's processes":    {env: []string{"PMI_RANK=0"}, want: binary},
		"a rank among another container's":     {env: []string{"PMI_RANK=0"}, pid: map[string]string{"type": "pid", "path": "/proc/7/ns/pid"}, want: binary},
		"a rank that is to report":             {env: []string{"PMI_RANK=0", "MPIIMPORT_REPORT=/r"}, pid: map[string]string{"type": "pid"}, want: binary},
		"behind an init":                       {init: []string{"/run/podman-init", "--"}, pid: map[string]string{"type": "pid"}, want: append([]string{"/run/podman-init", "--"}, binary...)},
		"no rank":                              {want: []string{"python3", "app.py"}},
	} {
		text := with(t, func(whole map[string]any) {
			annotate("default")(whole)
			object(whole, "process")["args"] = append(slices.Clone(c.init), "python3", "app.py")
			object(whole, "process")["env"] = append([]string{"PATH=/bin"}, c.env...)
			if c.init != nil {
				object(whole, "annotations")["io.podman.annotations.init"] = "TRUE"
			}
			object(whole, "linux")["namespaces"] = []map[string]string{{"type": "mount"}}
			if c.pid != nil {
				object(whole, "linux")["namespaces"] = []map[string]string{c.pid}
			}
		})
		got := edited(t, text, host(""))
		if pid, _ := environ.Get(got.env, ourvars.Pid); !slices.Equal(got.args, c.want) || pid != c.wantPid {
			t.Errorf("%s: %q, process %s", name, got.args, pid)
		}
		once, _ := Precreate(text, host(""))
		twice, err := Precreate(once, host(""))
		if err != nil || !reflect.DeepEqual(decode(t, once), decode(t, twice)) {
			t.Errorf("%s, by a hook that runs twice: %v\n%s\n%s", name, err, once, twice)
		}
	}
}

func TestAnImagesOwnEntryBinaryStaysInFront(t *testing.T) {
	own := []string{launch.EntryPath, "python3", "app.py"}
	c := edited(t, with(t, func(c map[string]any) {
		annotate("default")(c)
		object(c, "process")["args"] = own
	}), host(""))
	if !slices.Equal(c.args, own) {
		t.Errorf("%q", c.args)
	}
}

func TestWhatIsNotAskedForOrNotUnderstoodStaysAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		text []byte
		says string // of the one line; empty where none is due
	}{
		"no annotation": {captured(t), ""},
		"switched off": {with(t, func(c map[string]any) {
			annotate("default")(c)
			object(c, "process")["env"] = []string{"MPIIMPORT=0"}
		}), ""},
		"no text":          {nil, "not understood"},
		"no JSON":          {[]byte(`{"ociVersion": "1.0.0", `), "not understood"},
		"a list":           {[]byte(`[]`), "not understood"},
		"null":             {[]byte(`null`), "ociVersion"},
		"a newer version":  {with(t, func(c map[string]any) { annotate("default")(c); c["ociVersion"] = "2.0.0" }), `"2.0.0"`},
		"an older version": {with(t, func(c map[string]any) { annotate("default")(c); c["ociVersion"] = "0.9.0" }), `"0.9.0"`},
		"no version":       {with(t, func(c map[string]any) { delete(c, "ociVersion") }), `""`},
		"no process":       {with(t, func(c map[string]any) { annotate("default")(c); delete(c, "process") }), "no command"},
		"args as a word":   {with(t, func(c map[string]any) { object(c, "process")["args"] = "python" }), "args"},
		"env with a number": {with(t, func(c map[string]any) {
			annotate("default")(c)
			object(c, "process")["env"] = []any{1}
		}), "env"},
		"mounts as a mapping": {with(t, func(c map[string]any) { c["mounts"] = map[string]any{} }), "mounts"},
	} {
		out, err := Precreate(c.text, host(site))
		var unchanged Unchanged
		if !bytes.Equal(out, c.text) || (err == nil) != (c.says == "") || (err != nil && !errors.As(err, &unchanged)) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABrokenProfileIsAnErrorAndNoConfiguration(t *testing.T) {
	for name, text := range map[string]string{
		"not YAML": "{", "an unknown key": site[:len(site)-1] + ", color: red}",
		"a missing source": "{schema_version: 1, name: site, description: d, mounts: [{source: /no/such/place}]}",
	} {
		out, err := Precreate(with(t, annotate("site")), host(text))
		if out != nil || err == nil || errors.As(err, &Unchanged{}) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

// The profiles are the real ones here, found as the hook finds them.
func TestHostileAnnotationsNameNoFile(t *testing.T) {
	h := host("")
	h.Profile = func(name string) (*profile.Profile, error) { return profile.LoadTrusted(name, t.TempDir()) }
	for _, name := range []string{
		"", ".", "..", "../../etc/shadow", "/etc/passwd", "/proc/self/environ", "default/../../x", "mpich\n", "mpich\x00", "$(id)", "`id`",
		"-rf", "mpich;id", strings.Repeat("a", 1<<16), "ＭＰＩＣＨ", "\u202empich", "Default", "%s%n", "*", "no-such-profile",
	} {
		out, err := Precreate(with(t, annotate(name)), h)
		if out != nil || err == nil || errors.As(err, &Unchanged{}) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAHostileEnvironmentNamesNoFileAndChangesNoMount(t *testing.T) {
	h := host("")
	h.Profile = func(name string) (*profile.Profile, error) { return profile.LoadTrusted(name, t.TempDir()) }
	plain := edited(t, with(t, annotate("default")), h)
	hostile := edited(t, with(t, func(c map[string]any) {
		annotate("default")(c)
		object(c, "process")["env"] = []string{
			"MPIIMPORT_PROFILE=/etc/shadow", "XDG_CONFIG_HOME=/tmp/evil", "HOME=/tmp/evil", "LD_PRELOAD=/tmp/evil.so", "PREFIX=/tmp/evil",
			"MPIIMPORT_PREFIX=/tmp/evil", "_MPIIMPORT_PLAN={\"mounts\": []}", "_MPIIMPORT_UNSET=PATH", "PATH=/tmp/evil", "", "=", "=x", "NOEQUALS", "MPIIMPORT",
		}
	}), h)
	if !reflect.DeepEqual(plain.mounts, hostile.mounts) || !slices.Equal(plain.args, hostile.args) {
		t.Errorf("%+v\n%+v", plain.mounts, hostile.mounts)
	}
	for _, kept := range []string{"LD_PRELOAD=/tmp/evil.so", "NOEQUALS", "=x"} {
		if !slices.Contains(hostile.env, kept) {
			t.Errorf("%s is gone: %q", kept, hostile.env)
		}
	}
	if slices.Contains(hostile.env, "MPIIMPORT_PROFILE=/etc/shadow") {
		t.Errorf("%q", hostile.env)
	}
}
