package launch

import (
	"bytes"
	"os/exec"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/profile"
)

// names are the variables that plans, callers and images of these cases speak of.
var names = []string{"A", "B", "LIST", "LD_LIBRARY_PATH", "no_proxy", "PATH", "SLURM_JOB_ID", "MPIIMPORT_DEADLINE"}

// words make values that evaluate to something, whoever evaluates them.
func words(chance *fuzzing.Chance) string {
	return fuzzing.One(chance, "", "/u", "/u:/v", "${LIST}:/x", "${A:-/a}", "x y\nz", "\xff\xfe", "a=b", "'", "\"", "/s")
}

func randomPlan(chance *fuzzing.Chance) Plan {
	plan := Plan{}
	for _, name := range names {
		value, change := chance.Text(10), chance.Below(7)
		if strings.HasPrefix(name, "MPIIMPORT") && change < 5 {
			change = 0 // a plan only sets options
		}
		switch change {
		case 0, 1:
			plan.Environment = append(plan.Environment, Variable{name, value, Set})
		case 2:
			plan.Environment = append(plan.Environment, Variable{name, value, Default})
		case 3:
			plan.Environment = append(plan.Environment, Variable{name, "/s" + strings.ReplaceAll(value, ":", ""), fuzzing.One(chance, Append, Prepend)})
		case 4:
			plan.Environment = append(plan.Environment, Variable{name, "", Unset})
		}
	}
	if chance.In(2) {
		plan.Environment = append(plan.Environment, Variable{fuzzing.One(chance, "SLURM_*", "A", "*"), "", Keep})
	}
	return plan
}

func randomCaller(chance *fuzzing.Chance) []string {
	env := []string{"PATH=/usr/bin:/bin", "OTHER=" + chance.Text(30), "NOVALUE", "=C:=x"}
	for _, name := range names {
		if chance.In(2) && name != "PATH" {
			env = append(env, name+"="+chance.Text(10))
		}
		for _, prefix := range []string{"APPTAINERENV_", "SINGULARITYENV_"} {
			if chance.In(4) {
				env = append(env, prefix+name+"="+words(chance))
			}
		}
	}
	for _, name := range []string{"APPTAINERENV_APPEND_PATH", "SINGULARITYENV_PREPEND_PATH", "SINGULARITYENV_C"} {
		if chance.In(4) {
			env = append(env, name+"=/own")
		}
	}
	return env
}

// container is what the runtimes make of a caller's environment and an image's: what is handed in is evaluated by a shell,
// as between double quotes, and beats the image's, which beats the caller's.
func (r Runtime) container(t *testing.T, caller, image []string) map[string]string {
	t.Helper()
	there := map[string]string{}
	for _, entry := range caller {
		if name, value, ok := strings.Cut(entry, "="); ok && r.enters(name) && !strings.Contains(name, "ENV_") {
			there[name] = value
		}
	}
	for _, entry := range image {
		name, value, _ := strings.Cut(entry, "=")
		there[name] = value
	}
	script, given := strings.Builder{}, []string{}
	out := map[string]string{}
	for name, value := range there {
		out[name] = value
	}
	for _, prefix := range []string{"SINGULARITYENV_", "APPTAINERENV_"} {
		if prefix == "APPTAINERENV_" && r.Flavour == "singularityce" {
			continue
		}
		for _, entry := range caller {
			name, value, _ := strings.Cut(entry, "=")
			name, ok := strings.CutPrefix(name, prefix)
			switch {
			case !ok || value == "$$":
			case r.NoEval:
				out[name] = value
			default:
				script.WriteString(`printf '%s\0' "` + strings.ReplaceAll(value, `"`, `\"`) + "\"\n")
				given = append(given, name)
			}
		}
	}
	if len(given) == 0 {
		return out
	}
	command := exec.Command("/bin/sh", "-c", script.String())
	for name, value := range there {
		if name != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	text, err := command.CombinedOutput()
	values := bytes.Split(text, []byte{0})
	if err != nil || len(values) != len(given)+1 {
		t.Fatalf("the shell says %q (%v) to %q", text, err, script.String())
	}
	for i, name := range given {
		out[name] = string(values[i])
	}
	return out
}

// entered is the same after the entry binary, which removes what is to be removed.
func (r Runtime) entered(t *testing.T, caller, image []string) map[string]string {
	t.Helper()
	env := []string{ourvars.Mode + "=1"}
	for name, value := range r.container(t, caller, image) {
		env = append(env, name+"="+value)
	}
	_, env = entry.Start([]string{"sh"}, entry.Process{Prefix: Inside, Env: env})
	out := map[string]string{}
	for _, e := range env {
		if name, value, _ := strings.Cut(e, "="); name != ourvars.Mode && name != "PYTHONPATH" {
			out[name] = value
		}
	}
	return out
}

// The container gets what the plan says of the variables that it names, and of all others what it would have got.
func FuzzEnvironments(f *testing.F) {
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		plan, caller, image := randomPlan(chance), randomCaller(chance), []string{"PATH=/image"}
		for _, name := range names {
			// An empty list of an image's says no more than none.
			if chance.In(3) && name != "PATH" {
				image = append(image, name+"="+fuzzing.One(chance, "/", "x")+chance.Text(10))
			}
		}
		r := Runtime{Flavour: fuzzing.One(chance, "apptainer", "singularityce", ""), CleanEnv: chance.In(2), NoEval: chance.In(4)}
		edited, skipped := plan.ContainerEnvironment(caller, r)
		if again, _ := plan.ContainerEnvironment(edited, r); !reflect.DeepEqual(again, edited) {
			t.Fatalf("done twice, %q becomes %q", edited, again)
		}
		for _, entry := range caller {
			name, _, _ := strings.Cut(entry, "=")
			if !strings.HasPrefix(name, "APPTAINERENV_") && !strings.HasPrefix(name, "SINGULARITYENV_") && !slices.Contains(edited, entry) {
				t.Fatalf("%q is lost: %q", entry, edited)
			}
		}
		before, after := r.container(t, caller, image), r.entered(t, edited, image)
		for name := range merged(before, after) {
			if !slices.Contains(skipped, name) {
				expect(t, plan, r, caller, image, name, before, after)
			}
		}
		return len(plan.Environment) > 0
	})
}

func merged(some, others map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string]string{some, others} {
		for name := range m {
			out[name] = true
		}
	}
	return out
}

// expect fails unless a variable is in the container what the plan and the caller want.
func expect(t *testing.T, plan Plan, r Runtime, caller, image []string, name string, before, after map[string]string) {
	t.Helper()
	old, wasSet := before[name]
	want := []string{old}
	_, byApptainer := environ.Get(caller, "APPTAINERENV_"+name)
	_, bySingularity := environ.Get(caller, "SINGULARITYENV_"+name)
	isGiven := bySingularity || byApptainer && r.Flavour != "singularityce"
	is := slices.IndexFunc(plan.Environment, func(v Variable) bool { return v.Name == name && v.Change != Keep })
	isKept := slices.ContainsFunc(plan.Environment, func(v Variable) bool {
		fits, _ := path.Match(v.Name, name)
		return v.Change == Keep && fits && r.CleanEnv && profile.CanSet(name)
	})
	keptValue, callerHas := environ.Get(caller, name)
	isKept = isKept && callerHas && (is < 0 || plan.Environment[is].Change == Default)
	switch {
	case name == "APPEND_PATH" || name == "PREPEND_PATH":
		return // how PATH is lengthened is for the runtimes
	case isKept && !isGiven:
		want = []string{keptValue}
	case is >= 0:
		v := plan.Environment[is]
		switch {
		case v.Change == Set && (!isGiven || strings.HasPrefix(name, "MPIIMPORT")):
			want = []string{v.Value}
		case v.Change == Default && !wasSet:
			want = []string{v.Value}
		case v.Change == Unset && !isGiven:
			want = []string{""}
		case name == "PATH":
		case v.Change == Append:
			want = []string{v.Value}
			if old != "" {
				want = []string{old + ":" + v.Value}
			}
			if isGiven && strings.HasSuffix(":"+old, ":"+v.Value) {
				want = []string{old}
			}
		case v.Change == Prepend:
			want = []string{v.Value}
			if old != "" {
				want = []string{v.Value + ":" + old}
			}
			if isGiven && strings.HasPrefix(old+":", v.Value+":") {
				want = []string{old}
			}
		}
	}
	if !slices.Contains(want, after[name]) {
		t.Fatalf("%s is %q and not %q, but %q plainly\n%+v\n%+v\ncaller %q\nimage %q", name, after[name], want, old, r, plan.Environment, caller, image)
	}
}
