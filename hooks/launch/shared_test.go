package launch

import (
	"reflect"
	"strings"
	"testing"

	"mpiimport.org/hooks/profile"
)

func TestASharedPlanIsThePlanThatEachStartWouldMake(t *testing.T) {
	p := parse(t, `
container: {options: [--no-home]}
environment: {set: {A: '1'}, append: {L: /l}, unset: [U], keep: [S_*]}
service: {deadline: 9, store: /x}
lock: [service.deadline]
`)
	key := Key{Prefix: "/p", Profile: "site", UserNamespace: true}
	shared, err := Share(p, Request{Prefix: "/p", UserNamespace: true, Environ: []string{"PMI_RANK=0", "MPIIMPORT=force", "MPIIMPORT_STORE=/old"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := WriteShared(shared, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Request{
		{Prefix: "/p", UserNamespace: true, Command: []string{"python"}, Environ: []string{"MPIIMPORT_STORE=/y", "MPIIMPORT_VERBOSE=1"}},
		{Prefix: "/p", UserNamespace: true, Command: []string{EntryPath, "python"}, Environ: []string{"MPIIMPORT=force"}},
		{Prefix: "/p", UserNamespace: true, Environ: []string{"OMPI_COMM_WORLD_RANK=3", "S_RANK=3", "L=/a"}},
	} {
		want, err := Resolve(p, r)
		if err != nil {
			t.Fatal(err)
		}
		read, ok := ReadShared(text, key)
		if !ok {
			t.Fatal("the plan is not read again")
		}
		if got, err := read.For(r); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\ngot  %+v\nwant %+v", r.Environ, got, want)
		}
	}
}

func TestALockHoldsInASharedPlan(t *testing.T) {
	p := parse(t, "service: {deadline: 9}\nlock: [service.deadline]\n")
	shared, err := Share(p, Request{Prefix: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := WriteShared(shared, Key{Prefix: "/p"})
	read, _ := ReadShared(text, Key{Prefix: "/p"})
	if _, err := read.For(Request{Prefix: "/p", Environ: []string{"MPIIMPORT_DEADLINE=1"}}); err == nil || !strings.Contains(err.Error(), "locks service.deadline") {
		t.Error(err)
	}
}

func TestAPlanForOtherStartsIsNotUsed(t *testing.T) {
	key := Key{Prefix: "/p", Profile: "site"}
	whole := []Mount{{Source: "/p", Target: Inside, Options: "ro"}}
	text, _ := WriteShared(Shared{Plan: Plan{Profile: "site", Mounts: whole}}, key)
	empty, _ := WriteShared(Shared{Plan: Plan{Profile: "site"}}, key)
	if _, ok := ReadShared(text, key); !ok {
		t.Error("the plan itself")
	}
	for name, given := range map[string]struct {
		text string
		key  Key
	}{
		"another prefix":        {text, Key{Prefix: "/q", Profile: "site"}},
		"another profile":       {text, Key{Prefix: "/p", Profile: "other"}},
		"another namespace":     {text, Key{Prefix: "/p", Profile: "site", UserNamespace: true}},
		"a newer version":       {strings.Replace(text, `"version":2`, `"version":3`, 1), key},
		"a changed value":       {strings.Replace(text, `"/.mpiimport"`, `"/elsewhere"`, 1), key},
		"cut off":               {text[:len(text)/2], key},
		"empty":                 {"", key},
		"something else":        {"[]", key},
		"without our mount":     {empty, key},
		"a number for a string": {strings.Replace(text, `"/p"`, "1", 1), key},
	} {
		if _, ok := ReadShared(given.text, given.key); ok {
			t.Error(name)
		}
	}
}

func TestAPlanThatCannotBeHandedOnIsNotMade(t *testing.T) {
	for lines, want := range map[string]string{
		"environment: {set: {A: '${NO_SUCH}'}}\n":                               "refers to NO_SUCH, which is not set here",
		"environment: {set: {A: '" + strings.Repeat("x", largestText) + "'}}\n": "more than the",
		"environment: {set: {A: '${TEXT}'}}\n":                                  "",
	} {
		chosen, err := parse(t, lines).For([]string{"TEXT=caf\u00e9"})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := ForJob(chosen, "site", Request{Prefix: "/p"})
		if err != nil || !strings.Contains(plan.Why, want) || (plan.Text == "") != (want != "") {
			t.Errorf("%.60s: %+v, %v", lines, plan, err)
		}
	}
}

func TestAPlanForAJobIsReadByItsStarts(t *testing.T) {
	plan, err := ForJob(profile.Chosen{Profile: profile.Default()}, "", Request{Prefix: "/p", UserNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := ReadShared(plan.Text, Key{Prefix: "/p", UserNamespace: true}); !ok {
		t.Error(plan.Text)
	}
}
