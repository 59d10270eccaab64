package launch

import (
	"reflect"
	"strings"
	"testing"

	"mpiimport.org/hooks/profile"
)

func site() *profile.Profile {
	p := profile.Default()
	p.Name = "site"
	p.Service = map[string]string{"readers": "4"}
	p.Environment = profile.Environment{Set: map[string]string{"A": `"$HOME" <&>`}, Append: map[string]string{"LD_LIBRARY_PATH": "/opt/site"}}
	p.UserNamespace.Environment.Set = map[string]string{"B": "2"}
	p.Mounts = []profile.Mount{{Source: "/there", Target: "/there", Options: "ro"}}
	return p
}

// handed returns r with the plan in its environment.
func handed(t *testing.T, p *profile.Profile, asked string, r Request) Request {
	t.Helper()
	job := r
	job.Command, job.Environ = nil, nil
	h, err := Prepare(p, asked, job)
	if err != nil {
		t.Fatal(err)
	}
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r.Environ = append([]string{"MPIIMPORT_PLAN=" + text}, r.Environ...)
	r.Exists = func(path string) bool { t.Errorf("a start with a plan looks for %s", path); return false }
	return r
}

func TestAHandedPlanIsThePlanThatWouldBeResolved(t *testing.T) {
	for name, r := range map[string]Request{
		"exec":      request(),
		"run":       {Environ: []string{"PMI_RANK=1"}},
		"options":   {Command: []string{"python"}, Environ: []string{"MPIIMPORT=force", "MPIIMPORT_READERS=9", "MPIIMPORT_REPORT=/r"}},
		"entry":     {Command: []string{EntryPath, "python"}},
		"namespace": {Command: []string{"python"}, UserNamespace: true},
	} {
		r.Prefix, r.Exists, r.Glob = request().Prefix, request().Exists, request().Glob
		want, err := Resolve(site(), r)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := FromEnvironment("site", handed(t, site(), "site", r))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, ok, got, want)
		}
	}
}

func TestAPlanForSomethingElseIsNotTaken(t *testing.T) {
	fits := handed(t, site(), "site", request())
	for name, change := range map[string]func(r *Request) string{
		"another profile":      func(r *Request) string { return "" },
		"another installation": func(r *Request) string { r.Prefix = "/elsewhere"; return "site" },
		"a user namespace":     func(r *Request) string { r.UserNamespace = true; return "site" },
		"no plan":              func(r *Request) string { r.Environ = nil; return "site" },
		"no JSON":              func(r *Request) string { r.Environ = []string{"MPIIMPORT_PLAN={"}; return "site" },
		"an empty plan": func(r *Request) string {
			r.Environ = []string{`MPIIMPORT_PLAN={"prefix":"/sw/mpiimport","asked":"site"}`}
			return "site"
		},
		"a newer format": func(r *Request) string {
			r.Environ = []string{strings.Replace(fits.Environ[0], `{"prefix"`, `{"later":1,"prefix"`, 1)}
			return "site"
		},
	} {
		r := fits
		if _, ok := FromEnvironment(change(&r), r); ok {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestAPlanThatLaunchersCannotCarryIsRefused(t *testing.T) {
	p := site()
	p.Environment.Set["A"] = strings.Repeat("x", largestHanded)
	h, err := Prepare(p, "site", request())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Encode(); err == nil || !strings.Contains(err.Error(), "profile site takes") {
		t.Errorf("%v", err)
	}
}
