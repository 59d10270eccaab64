package launch

import (
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

func TestEnvironmentForTheRuntimes(t *testing.T) {
	for name, c := range map[string]struct {
		variable Variable
		runtime  Runtime
		env      []string
		want     []string
		skipped  []string
	}{
		"apptainer":                   {Variable{"A", "x", Set}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_A=x"}, nil},
		"singularityce":               {Variable{"A", "x", Set}, Runtime{Flavour: "singularityce"}, nil, []string{"SINGULARITYENV_A=x"}, nil},
		"unknown flavour gets both":   {Variable{"A", "x", Set}, Runtime{}, nil, []string{"APPTAINERENV_A=x", "SINGULARITYENV_A=x"}, nil},
		"the caller's wins":           {Variable{"A", "x", Set}, Runtime{Flavour: "apptainer"}, []string{"SINGULARITYENV_A=y"}, []string{"APPTAINERENV_A=y"}, nil},
		"the mode is ours":            {Variable{"MPIIMPORT", "force", Set}, Runtime{Flavour: "apptainer"}, []string{"APPTAINERENV_MPIIMPORT=1"}, []string{"APPTAINERENV_MPIIMPORT=force"}, nil},
		"values are not evaluated":    {Variable{"A", "$x`y`\\", Set}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_A=\\$x\\`y\\`$(printf '\\134')"}, nil},
		"nor escaped without need":    {Variable{"A", "$x", Set}, Runtime{Flavour: "apptainer", NoEval: true}, nil, []string{"APPTAINERENV_A=$x"}, nil},
		"removed":                     {Variable{"A", "", Unset}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_A=", "APPTAINERENV__MPIIMPORT_UNSET=A"}, nil},
		"prepended to the image's":    {Variable{"P", "/s", Prepend}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_P=/s${P:+:$P}"}, nil},
		"prepended to the caller's":   {Variable{"P", "/s", Prepend}, Runtime{Flavour: "apptainer"}, []string{"APPTAINERENV_P=/u"}, []string{"APPTAINERENV_P=/s:/u"}, nil},
		"prepended once":              {Variable{"P", "/s", Prepend}, Runtime{Flavour: "apptainer"}, []string{"APPTAINERENV_P=/s${P:+:$P}"}, []string{"APPTAINERENV_P=/s${P:+:$P}"}, nil},
		"prepended to the host's":     {Variable{"P", "/s", Prepend}, Runtime{Flavour: "apptainer"}, []string{"P=/h$"}, []string{"P=/h$", "APPTAINERENV_P=/s:${P:-/h$(printf '\\044')}"}, nil},
		"a clean host has none":       {Variable{"P", "/s", Prepend}, Runtime{Flavour: "apptainer", CleanEnv: true}, []string{"P=/h"}, []string{"P=/h", "APPTAINERENV_P=/s${P:+:$P}"}, nil},
		"not without evaluation":      {Variable{"P", "/s", Prepend}, Runtime{Flavour: "apptainer", NoEval: true}, nil, nil, []string{"P"}},
		"appended to the image's":     {Variable{"P", "/s", Append}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_P=${P:+$P:}/s"}, nil},
		"appended once":               {Variable{"P", "/s", Append}, Runtime{Flavour: "apptainer"}, []string{"APPTAINERENV_P=${P:+$P:}/s"}, []string{"APPTAINERENV_P=${P:+$P:}/s"}, nil},
		"a default gives way":         {Variable{"A", "x", Default}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_A=${A-x}"}, nil},
		"to the caller":               {Variable{"A", "x", Default}, Runtime{Flavour: "apptainer"}, []string{"A="}, []string{"A="}, nil},
		"who is cleaned away":         {Variable{"A", "x", Default}, Runtime{Flavour: "apptainer", CleanEnv: true}, []string{"A=y"}, []string{"A=y", "APPTAINERENV_A=${A-x}"}, nil},
		"or whom nothing cleans":      {Variable{"no_proxy", "x", Default}, Runtime{Flavour: "apptainer", CleanEnv: true}, []string{"no_proxy=y"}, []string{"no_proxy=y"}, nil},
		"or who hands it in":          {Variable{"A", "x", Default}, Runtime{Flavour: "apptainer"}, []string{"APPTAINERENV_A=y"}, []string{"APPTAINERENV_A=y"}, nil},
		"the host's never enters":     {Variable{"LD_LIBRARY_PATH", "/x", Default}, Runtime{Flavour: "apptainer"}, []string{"LD_LIBRARY_PATH=/h"}, []string{"LD_LIBRARY_PATH=/h", "APPTAINERENV_LD_LIBRARY_PATH=${LD_LIBRARY_PATH-/x}"}, nil},
		"every container has a PATH":  {Variable{"PATH", "/x", Default}, Runtime{Flavour: "apptainer"}, nil, nil, nil},
		"a default needs evaluation":  {Variable{"A", "x", Default}, Runtime{Flavour: "apptainer", NoEval: true}, nil, nil, []string{"A"}},
		"not where the caller has it": {Variable{"A", "x", Default}, Runtime{Flavour: "apptainer", NoEval: true}, []string{"A=y"}, []string{"A=y"}, nil},
		"PATH is not evaluated":       {Variable{"PATH", "/$x", Append}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_APPEND_PATH=/\\$x"}, nil},
		"PATH and the caller's":       {Variable{"PATH", "/s", Append}, Runtime{Flavour: "apptainer"}, []string{"APPTAINERENV_APPEND_PATH=/u"}, []string{"APPTAINERENV_APPEND_PATH=/u:/s"}, nil},
		"PATH before the caller's":    {Variable{"PATH", "/s", Prepend}, Runtime{Flavour: "apptainer"}, []string{"SINGULARITYENV_PREPEND_PATH=/u"}, []string{"APPTAINERENV_PREPEND_PATH=/s:/u"}, nil},
		"PATH has a way of its own":   {Variable{"PATH", "/s", Append}, Runtime{Flavour: "apptainer"}, []string{"PATH=/h"}, []string{"PATH=/h", "APPTAINERENV_APPEND_PATH=/s"}, nil},
		"the started process's id":    {Variable{"I", "", Pid}, Runtime{Flavour: "apptainer"}, nil, []string{"APPTAINERENV_I=$$"}, nil},
		"which nobody else can tell":  {Variable{"I", "", Pid}, Runtime{Flavour: "apptainer", NoEval: true}, nil, nil, []string{"I"}},
	} {
		got, skipped := Plan{Environment: []Variable{c.variable}}.ContainerEnvironment(c.env, c.runtime)
		if !(len(got) == 0 && len(c.want) == 0) && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if strings.Join(skipped, " ") != strings.Join(c.skipped, " ") {
			t.Errorf("%s: skipped %q", name, skipped)
		}
		again, _ := Plan{Environment: []Variable{c.variable}}.ContainerEnvironment(got, c.runtime)
		if !reflect.DeepEqual(again, got) {
			t.Errorf("%s is not idempotent: %q becomes %q", name, got, again)
		}
	}
}

// A shell evaluates these values between double quotes, as the runtimes do.
func TestEvaluatedListsKeepWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		change      Change
		host, image string
		want        string
	}{
		"prepend to nothing":  {Prepend, "", "", "/s"},
		"prepend to image":    {Prepend, "", "/i", "/s:/i"},
		"prepend to host":     {Prepend, "/h", "", "/s:/h"},
		"image beats host":    {Prepend, "/h", "/i", "/s:/i"},
		"append to nothing":   {Append, "", "", "/s"},
		"append to image":     {Append, "", "/i", "/i:/s"},
		"append to host":      {Append, "/h", "", "/h:/s"},
		"odd characters stay": {Append, "/h`$x\\", "", "/h`$x\\:/s"},
		"a brace stays":       {Append, "/h}x{", "", "/h}x{:/s"},
		"a brace in front":    {Prepend, "${h}", "", "/s:${h}"},
		"the image's brace":   {Append, "/h}", "/i}", "/i}:/s"},
	} {
		env := []string{}
		if c.host != "" {
			env = append(env, "P="+c.host)
		}
		got, _ := Plan{Environment: []Variable{{"P", "/s", c.change}}}.ContainerEnvironment(env, Runtime{Flavour: "apptainer"})
		value, _ := environ.Get(got, "APPTAINERENV_P")
		// As the runtimes escape it.
		script := `P="` + strings.ReplaceAll(value, `"`, `\"`) + `"; printf %s "$P"`
		command := exec.Command("/bin/sh", "-c", script)
		command.Env = []string{"P=" + c.image}
		output, err := command.Output()
		if err != nil || string(output) != c.want {
			t.Errorf("%s: %q gives %q, want %q (%v)", name, value, output, c.want, err)
		}
	}
}

func TestVariablesOfTheCallerAreKeptWhereTheEnvironmentIsCleaned(t *testing.T) {
	p := parse(t, "environment: {keep: [LOGNAME, 'SLURM_*', '*'], default: {SLURM_ID: '1', OTHER: '1'}, set: {SLURM_SET: site}, append: {LIST: /b}, unset: [GONE]}\n")
	caller := []string{
		"LOGNAME=ann=b$", "SLURM_ID=7", "SLURM_SET=caller", "LIST=/a", "GONE=1",
		"HOME=/h", "UID=1", "_MPIIMPORT_PID=1", "MPI4PY_LIBMPI=x", "BASH_FUNC_f%%=1",
	}
	plan, err := Resolve(p, request())
	if err != nil {
		t.Fatal(err)
	}
	added := func(cleaned bool) []string {
		env, _ := plan.ContainerEnvironment(caller, Runtime{Flavour: "apptainer", CleanEnv: cleaned})
		out := []string{}
		for _, entry := range env[len(caller):] {
			if name, _ := strings.CutPrefix(entry, "APPTAINERENV_"); !ourvars.IsOurs(strings.Split(name, "=")[0]) {
				out = append(out, name)
			}
		}
		return out
	}
	want := []string{"SLURM_SET=site", "OTHER=${OTHER-1}", "LIST=${LIST:+$LIST:}/b", "GONE=", "LOGNAME=ann=b\\$", "SLURM_ID=7"}
	if got := added(true); !reflect.DeepEqual(got, want) {
		t.Errorf("cleaned:\ngot  %q\nwant %q", got, want)
	}
	want = []string{"SLURM_SET=site", "OTHER=${OTHER-1}", "LIST=${LIST:-/a}:/b", "GONE="}
	if got := added(false); !reflect.DeepEqual(got, want) {
		t.Errorf("not cleaned:\ngot  %q\nwant %q", got, want)
	}
}

func TestAHugeEnvironmentTakesTimeInProportion(t *testing.T) {
	caller := []string{}
	for i := range 70_000 {
		caller = append(caller, fmt.Sprintf("V%d=%d", i, i))
	}
	plan, err := Resolve(parse(t, "environment: {keep: ['*']}\n"), request())
	if err != nil {
		t.Fatal(err)
	}
	env, _ := plan.ContainerEnvironment(caller, Runtime{Flavour: "apptainer", CleanEnv: true})
	again, _ := plan.ContainerEnvironment(env, Runtime{Flavour: "apptainer", CleanEnv: true})
	if len(env) != 2*len(caller)+3 || len(again) < len(env) || env[len(env)-1] != "APPTAINERENV_V69999=69999" {
		t.Errorf("%d entries, %s", len(env), env[len(env)-1])
	}
}
