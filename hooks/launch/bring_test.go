package launch

import (
	"strings"
	"testing"

	"mpiimport.org/hooks/profile"
)

func TestMountSources(t *testing.T) {
	mount := func(source, target string, optional bool) profile.Mount {
		return profile.Mount{Source: source, Target: target, Optional: optional, Options: "ro", File: "site.yaml", Line: 7}
	}
	for name, c := range map[string]struct {
		mount profile.Mount
		want  string // the last mount
		fails string
	}{
		"one that exists":        {mount: mount("/there", "/there", false), want: "/there:/there:ro"},
		"a pattern":              {mount: mount("/there/*", "", false), want: "/there/b:/there/b:ro"},
		"a missing one":          {mount: mount("/gone", "/gone", false), fails: "site.yaml:7: the mount source /gone does not exist"},
		"a pattern for nothing":  {mount: mount("/gone*", "", false), fails: "add `optional: true`"},
		"a missing optional one": {mount: mount("/gone", "/gone", true), want: "/sw/mpiimport:/.mpiimport:ro"},
		"a bad pattern":          {mount: mount("/bad[", "", true), fails: "site.yaml:7: the pattern /bad["},
		"one in our own place":   {mount: mount("/there", "/.mpiimport/lib", true), fails: "choose another target"},
		"one over it":            {mount: mount("/there", "/.mpiimport", true), fails: "choose another target"},
		"one that leads there":   {mount: mount("/there", "/opt/../.mpiimport//", true), fails: "choose another target"},
		"one over everything":    {mount: mount("/there", "/opt/..", true), fails: "choose another target"},
		"one over the store":     {mount: mount("/there", "/x/../.mpiimport-store/x", true), fails: "choose another target"},
		"one beside it":          {mount: mount("/there", "/.mpiimport-else", false), want: "/there:/.mpiimport-else:ro"},
	} {
		p := profile.Default()
		p.Mounts = []profile.Mount{c.mount}
		plan, err := Resolve(p, request())
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || plan.Mounts[len(plan.Mounts)-1].Bind() != c.want {
			t.Errorf("%s: %+v, %v", name, plan.Mounts, err)
		}
	}
}

func TestDevices(t *testing.T) {
	for body, want := range map[string]string{
		"[{path: '/dev/cxi*'}, {path: /dev/cxi0}]": "/dev/cxi0 /dev/cxi1",
		"[{path: /dev/gone, optional: true}]":      "",
		"[{path: /dev/gone}]":                      "site.yaml:4: no device node of this host is called /dev/gone; mend",
		"[{path: '/dev/bad['}]":                    "site.yaml:4: the pattern /dev/bad[ is not understood",
	} {
		plan, err := Resolve(parse(t, "devices: "+body), request())
		got := strings.Join(plan.Devices, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", body, got)
		}
		for _, m := range plan.Mounts {
			if strings.HasPrefix(m.Source, "/dev") {
				t.Errorf("%s: %v", body, m)
			}
		}
	}
}

func TestAnExtendingProfileReplacesAMountAtTheSameTarget(t *testing.T) {
	p := profile.Default()
	p.Mounts = []profile.Mount{
		{Source: "/there/1", Target: "/t", Options: "ro"}, {Source: "/there/2", Target: "/t", Options: "rw"},
	}
	plan, _ := Resolve(p, request())
	if len(plan.Mounts) != 2 || plan.Mounts[1].Bind() != "/there/2:/t:rw" {
		t.Errorf("%+v", plan.Mounts)
	}
}

func TestAPrefixThatCannotBeBoundIsAnError(t *testing.T) {
	for _, name := range []string{"a:b", "a,b", `a"b`, "a'b", `a\b`} {
		r := request()
		r.Prefix = "/sw/" + name
		if _, err := Resolve(profile.Default(), r); err == nil || !strings.Contains(err.Error(), "install it elsewhere") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
