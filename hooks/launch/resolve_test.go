package launch

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"mpiimport.org/hooks/profile"
)

func request() Request {
	return Request{
		Prefix:   "/sw/mpiimport",
		Command:  []string{"python", "app.py"},
		Exists:   func(path string) bool { return strings.HasPrefix(path, "/there") },
		IsDevice: func(path string) bool { return path != "/dev/cxi-directory" },
		Glob: func(pattern string) ([]string, error) {
			switch pattern {
			case "/there/*":
				return []string{"/there/a", "/there/b"}, nil
			case "/dev/cxi*":
				return []string{"/dev/cxi0", "/dev/cxi-directory", "/dev/cxi1"}, nil
			case "/dev/cxi0":
				return []string{"/dev/cxi0"}, nil
			case "/bad[", "/dev/bad[":
				return nil, errors.New("syntax error in pattern")
			}
			return nil, nil
		},
	}
}

func parse(t *testing.T, body string) *profile.Profile {
	t.Helper()
	p, err := profile.Parse("site.yaml", []byte("schema_version: 1\nname: site\ndescription: a test\n"+body))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func find(plan Plan, name string) *Variable {
	for i := range plan.Environment {
		if plan.Environment[i].Name == name {
			return &plan.Environment[i]
		}
	}
	return nil
}

func TestEveryPlanMountsThePrefixAndNamesTheMode(t *testing.T) {
	plan, err := Resolve(profile.Default(), request())
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		Profile:     "default",
		Mounts:      []Mount{{"/sw/mpiimport", "/.mpiimport", "ro"}},
		Devices:     []string{},
		Environment: []Variable{{"MPIIMPORT", "1", Set}, {"MPIIMPORT_PROFILE", "default", Set}, {"_MPIIMPORT_APPLIED", "default", Set}},
		Entry:       []string{"/.mpiimport/bin/mpiimport-entry"},
		Launcher:    []string{},
		Options:     []string{},
	}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("got  %+v\nwant %+v", plan, want)
	}
	if _, err := json.Marshal(plan); err != nil {
		t.Error(err)
	}
}

func TestForceIsHandedOn(t *testing.T) {
	r := request()
	r.Environ = []string{"MPIIMPORT=force"}
	plan, _ := Resolve(profile.Default(), r)
	if v := find(plan, "MPIIMPORT"); v.Value != "force" {
		t.Errorf("MPIIMPORT is %q", v.Value)
	}
}

func TestCallersOptionsBeatTheProfiles(t *testing.T) {
	p := profile.Default()
	p.Service = map[string]string{"readers": "4", "store": "/dev/shm"}
	r := request()
	r.Environ = []string{"MPIIMPORT_READERS=9", "MPIIMPORT_REPORT=/tmp/r", "_MPIIMPORT_PID=1", "_MPIIMPORT_START=early", "PATH=/bin"}
	plan, _ := Resolve(p, r)
	for name, want := range map[string]string{"MPIIMPORT_READERS": "9", "MPIIMPORT_STORE": "/dev/shm", "MPIIMPORT_REPORT": "/tmp/r"} {
		if v := find(plan, name); v == nil || v.Value != want {
			t.Errorf("%s: %+v", name, v)
		}
	}
	for _, name := range []string{"_MPIIMPORT_PID", "_MPIIMPORT_START", "PATH"} {
		if v := find(plan, name); v != nil {
			t.Errorf("%s must not be handed on: %+v", name, v)
		}
	}
}

func TestUserNamespaceSettingsApplyOnlyThere(t *testing.T) {
	p := parse(t, "environment: {set: {A: '1', B: '1'}, unset: [C]}\nuser_namespace: {environment: {set: {B: '2', C: '2'}}}\n")
	for userns, want := range map[bool][]Variable{
		false: {{"A", "1", Set}, {"B", "1", Set}, {"C", "", Unset}},
		true:  {{"A", "1", Set}, {"B", "2", Set}, {"C", "2", Set}},
	} {
		r := request()
		r.UserNamespace = userns
		plan, _ := Resolve(p, r)
		if got := plan.Environment[3:]; !reflect.DeepEqual(got, want) {
			t.Errorf("userns=%v: %+v", userns, got)
		}
	}
}

func TestWithoutACommandOfOursSitecustomizeIsTheEntryPoint(t *testing.T) {
	r := request()
	r.Command = nil
	plan, _ := Resolve(profile.Default(), r)
	if len(plan.Entry) != 0 || find(plan, "PYTHONPATH").Change != Prepend || find(plan, "_MPIIMPORT_PID") != nil {
		t.Errorf("%+v", plan)
	}
	r.Environ = []string{"PMI_RANK=3"}
	plan, _ = Resolve(profile.Default(), r)
	if v := find(plan, "_MPIIMPORT_PID"); v == nil || v.Change != Pid {
		t.Errorf("%+v", plan)
	}
}

func TestTheEntryIsPutInOnce(t *testing.T) {
	r := request()
	r.Command = []string{EntryPath, "python"}
	plan, _ := Resolve(profile.Default(), r)
	if len(plan.Entry) != 0 || find(plan, "PYTHONPATH") != nil {
		t.Errorf("%+v", plan)
	}
}

func TestHostEnvironmentHasFinalValuesAndKeepsTheCallersOptions(t *testing.T) {
	p := &profile.Profile{
		Name:        "x",
		Environment: profile.Environment{Set: map[string]string{"A": "1"}, Default: map[string]string{"D": "1", "E": "1"}, Append: map[string]string{"L": "/b"}, Unset: []string{"U"}},
		Service:     map[string]string{"store": "/s", "readers": "4"},
	}
	got := map[string]string{}
	changes, err := HostEnvironment(p, []string{"L=/a", "E=2", "MPIIMPORT_STORE=/mine", "MPIIMPORT=1"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range changes {
		got[v.Name] = string(v.Change) + " " + v.Value
	}
	want := map[string]string{"A": "set 1", "D": "default 1", "L": "append /a:/b", "U": "unset ", "MPIIMPORT_STORE": "set /mine", "MPIIMPORT_READERS": "set 4"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestACallersOptionThatTheSiteLocksIsAnError(t *testing.T) {
	p := parse(t, `
service: {store: /dev/shm, leave_alone: [torch, scipy.io]}
mpi: {preload: [a.so]}
launcher: {variables: {rank: R}}
lock: [service, mpi.preload, launcher]
`)
	for variable, key := range map[string]string{
		"MPIIMPORT_STORE=/tmp":        "service",
		"MPIIMPORT_STORE=":            "service",
		"MPIIMPORT_READERS=3":         "service",
		"MPIIMPORT_LEAVE_ALONE=torch": "service",
		"MPIIMPORT_PRELOAD=b.so":      "mpi.preload",
		"MPIIMPORT_RANK_VARIABLES=Q":  "launcher",
	} {
		r := request()
		r.Environ = []string{variable}
		for _, err := range []error{resolveError(p, r), hostError(p, r.Environ)} {
			if err == nil || !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), "site.yaml locks "+key+";") {
				t.Errorf("%s: %v", variable, err)
			}
		}
	}
	r := request()
	r.Environ = []string{"MPIIMPORT_STORE=/dev/shm", "MPIIMPORT_LEAVE_ALONE=torch:scipy.io", "MPIIMPORT_BINDING=lazy", "MPIIMPORT_REPORT=/r", "MPIIMPORT=force"}
	if plan, err := Resolve(p, r); err != nil || find(plan, "MPIIMPORT_BINDING").Value != "lazy" {
		t.Errorf("%+v, %v", plan, err)
	}
}

func resolveError(p *profile.Profile, r Request) error {
	_, err := Resolve(p, r)
	return err
}

func hostError(p *profile.Profile, caller []string) error {
	_, err := HostEnvironment(p, caller, false)
	return err
}

func TestEverySectionReachesThePlan(t *testing.T) {
	p := parse(t, `
mpi: {library: /opt/mpi/libmpi.so.12, abi: mpich, preload: [/opt/a.so, b.so], binding: lazy}
launcher: {prefix: [srun, --mpi=pmi2], variables: {rank: R, local_size: L}}
service: {store_size: 4GiB, libraries: stage, direct: [torch, libopenblas*], breadth: package, leave_alone: [torch, scipy.io]}
container: {options: [--cleanenv, --home=/work], per_node: true}
`)
	plan, err := Resolve(p, request())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"MPI4PY_LIBMPI":            "/opt/mpi/libmpi.so.12",
		"MPIIMPORT_PRELOAD":        "/opt/a.so:b.so",
		"MPIIMPORT_BINDING":        "lazy",
		"MPIIMPORT_RANK_VARIABLES": "R::L",
		"MPIIMPORT_STORE_SIZE":     "4GiB",
		"MPIIMPORT_LIBRARIES":      "stage",
		"MPIIMPORT_DIRECT":         "torch:libopenblas*",
		"MPIIMPORT_BREADTH":        "package",
		"MPIIMPORT_LEAVE_ALONE":    "torch:scipy.io",
	} {
		if v := find(plan, name); v == nil || *v != (Variable{name, want, Set}) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if strings.Join(plan.Launcher, " ") != "srun --mpi=pmi2" || strings.Join(plan.Options, " ") != "--cleanenv --home=/work" || !plan.PerNode {
		t.Errorf("%+v", plan)
	}
}

func TestTheRankIsToldByTheLauncherThatTheSiteNames(t *testing.T) {
	p := parse(t, "launcher: {variables: {rank: SITE_RANK}}\n")
	for variable, isRank := range map[string]bool{"SITE_RANK=0": true, "OTHER_RANK=0": false, "PMI_RANK=0": true} {
		r := request()
		r.Command, r.Environ = nil, []string{variable}
		plan, _ := Resolve(p, r)
		if v := find(plan, "_MPIIMPORT_PID"); (v != nil) != isRank {
			t.Errorf("%s: %+v", variable, plan.Environment)
		}
	}
}
