package shim

import (
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/internal/chance/randomprofile"
	"mpiimport.org/hooks/internal/entrypoints/apptainercli"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// A profile that check accepts on this machine starts with any line: with its plan, or plainly where its options do not suit.
func FuzzAcceptedProfiles(f *testing.F) {
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		text := randomprofile.Text(chance)
		if _, err := randomprofile.Parse(t, text); err != nil {
			return false
		}
		config, directory := randomprofile.Install(t, text)
		env := append(randomEnvironment(chance), "XDG_CONFIG_HOME="+config)
		p, err := profile.Load(randomprofile.Name, profile.Directories("/p", env))
		if err != nil {
			return false // what it extends is not there
		}
		_, err = launch.Resolve(p, launch.Request{Prefix: "/p"}.OnThisHost())
		if err != nil && (!strings.HasPrefix(err.Error(), directory) || !strings.ContainsAny(err.Error(), ";,")) {
			t.Fatalf("no place or no remedy: %v", err)
		}
		call := Call{Args: []string{"exec", "--mpiimport=" + randomprofile.Name, "-e", "img", "python3", "--nv"}, Env: env, Prefix: "/p", Facts: containerstart.Facts{Flavour: "apptainer"}, Root: chance.In(2)}
		out, failed := Decide(call)
		if (failed == nil) != (err == nil) {
			t.Fatalf("check says %v, a start %v", err, failed)
		}
		if failed != nil {
			return true
		}
		got := apptainercli.Parse(out.Args)
		before, command := got.Command(), []string{"python3", "--nv"}
		if got.Image() != "img" || got.Doubt != "" || got.Options(nil)["cleanenv"] != "true" || !slices.Equal(withoutStart(withoutEntry(before), command), command) {
			t.Fatalf("%q for\n%s", out.Args, text)
		}
		if isPlain := !slices.Contains(out.Args, "/p:/.mpiimport:ro"); isPlain && (len(out.Args) != 5 || !slices.Equal(out.Env, env) || strings.Contains(out.Note, ": - ") || out.Note == "" && rankenv.SpeaksForJob(env)) {
			t.Fatalf("half a start: %q, note %q", out.Args, out.Note)
		}
		for name, value := range got.Options(nil) {
			if takes, _ := apptainercli.Takes(name); !takes && value != "true" && value != "false" {
				t.Fatalf("the runtime refuses --%s=%s", name, value)
			}
		}
		return true
	})
}

// A job's plan comes by way of the environment, which launchers cut and change: a start that cannot read it makes its own.
func FuzzDamagedPlans(f *testing.F) {
	config := profileDirectory(f, "site", "environment: {set: {S: '1'}}\nmounts: [{source: /usr, target: /data}]\n")
	env := []string{"XDG_CONFIG_HOME=" + config}
	p, err := profile.Load("site", profile.Directories("/p", env))
	if err != nil {
		f.Fatal(err)
	}
	shared, err := launch.Share(p, launch.Request{Prefix: "/p"}.OnThisHost())
	if err != nil {
		f.Fatal(err)
	}
	text, err := launch.WriteShared(shared, launch.Key{Prefix: "/p", Profile: "site"})
	if err != nil {
		f.Fatal(err)
	}
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		damaged := []byte(text)
		for chance.In(2) {
			at := chance.Below(len(damaged))
			switch chance.Below(3) {
			case 0:
				damaged = damaged[:at]
			case 1:
				damaged = slices.Insert(damaged, at, []byte(chance.Text(4))...)
			default:
				damaged = slices.Delete(damaged, at, min(len(damaged), at+1+chance.Below(40)))
			}
			if len(damaged) == 0 {
				break
			}
		}
		out, err := Decide(Call{Args: []string{"exec", "--mpiimport=site", "-e", "img", "sh"}, Env: append(env, "_MPIIMPORT_PLAN="+string(damaged)), Prefix: "/p", Root: true})
		if err != nil {
			t.Fatalf("%v: %q", err, damaged)
		}
		got := apptainercli.Parse(out.Args)
		if got.Image() != "img" || !slices.Equal(got.Command(), []string{launch.EntryPath, entry.Absolute, "sh"}) || got.Options(nil)["cleanenv"] != "true" {
			t.Fatalf("%q for %q", out.Args, damaged)
		}
		for _, option := range got.Given() {
			if parts := strings.Split(option.Value, ":"); option.Name == "bind" && (len(parts) != 3 || slices.Contains(parts, "")) {
				t.Fatalf("no runtime takes --bind %q; the plan was %q", option.Value, damaged)
			}
		}
		return string(damaged) != text
	})
}
