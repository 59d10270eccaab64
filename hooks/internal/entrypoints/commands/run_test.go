package commands

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/launch"
)

const site = "schema_version: 1\nname: site\ndescription: x\nmounts: [{source: /proc, target: /host}]\n"

// installed makes a prefix with the profile site and a directory of programs, which comes first on PATH.
func installed(t *testing.T, programs map[string]string) Call {
	t.Helper()
	prefix, programsAt := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(prefix, "profiles"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(prefix, "profiles", "site.yaml"), []byte(site), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(programsAt, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programsAt)
	return Call{Prefix: prefix, Env: []string{"PATH=" + programsAt, "HOME=/none"}, Root: true}
}

func (c Call) with(line string, env ...string) Call {
	c.Args = strings.Fields(line)
	c.Env = append(slices.Clone(c.Env), env...)
	return c
}

func TestTheJobGetsPlanSwitchAndEntryPoints(t *testing.T) {
	c := installed(t, nil).with("--profile site -- srun -n 2 apptainer exec i python", "PYTHONPATH=/u")
	job, err := c.Run()
	if err != nil || strings.Join(job.Args, " ") != "srun -n 2 apptainer exec i python" {
		t.Fatalf("%q %v", job.Args, err)
	}
	text, _ := environ.Get(job.Env, "_MPIIMPORT_PLAN")
	shared, ok := launch.ReadShared(text, launch.Key{Prefix: c.Prefix, Profile: "site"})
	if !ok || shared.Plan.Mounts[1].Target != "/host" {
		t.Errorf("%+v", shared)
	}
	for name, want := range map[string]string{
		"MPIIMPORT": "1", "MPIIMPORT_PROFILE": "site", "PYTHONPATH": c.Prefix + "/lib/mpiimport/pythonpath:/u",
		"PATH": c.Prefix + "/shim:" + strings.TrimPrefix(c.Env[0], "PATH="),
	} {
		if got, _ := environ.Get(job.Env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestTheProfilesLauncherStandsWhereNoneIsNamed(t *testing.T) {
	c := installed(t, nil)
	text := strings.Replace(site, "mounts:", "launcher: {prefix: [srun, --mpi=pmi2]}\nmounts:", 1)
	if err := os.WriteFile(filepath.Join(c.Prefix, "profiles", "site.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"--profile site -- -n 2 python app.py":      "srun --mpi=pmi2 -n 2 python app.py",
		"--profile site -- srun -n 2 python app.py": "srun -n 2 python app.py",
		"--profile site mpiexec -n 2 app":           "mpiexec -n 2 app",
	} {
		for _, mode := range []string{"1", "0"} {
			job, err := c.with(line, "MPIIMPORT="+mode).Run()
			if got := strings.Join(job.Args, " "); got != want || err != nil {
				t.Errorf("MPIIMPORT=%s, %s: %s %v", mode, line, got, err)
			}
		}
	}
	for _, line := range []string{"-- -n 2 app", "--profile default -- -n 2 app"} {
		for _, mode := range []string{"1", "0"} {
			job, err := c.with(line, "MPIIMPORT="+mode).Run()
			if err == nil || !strings.Contains(err.Error(), "launcher.prefix") {
				t.Errorf("MPIIMPORT=%s, %s: %q %v", mode, line, job.Args, err)
			}
		}
	}
}

func TestWhatTheCallerSwitchedStays(t *testing.T) {
	c := installed(t, nil)
	forced, err := c.with("mpiexec app", "MPIIMPORT=force").Run()
	if mode, _ := environ.Get(forced.Env, "MPIIMPORT"); mode != "force" || err != nil {
		t.Errorf("%s %v", mode, err)
	}
	off := c.with("--profile none mpiexec app", "MPIIMPORT=0")
	if job, err := off.Run(); err != nil || !slices.Equal(job.Env, off.Env) || !slices.Equal(job.Args, []string{"mpiexec", "app"}) {
		t.Errorf("%+v %v", job, err)
	}
}

func TestAPlanThatCannotBeCarriedStaysHome(t *testing.T) {
	c := installed(t, nil)
	text := site + "environment: {set: {A: '" + strings.Repeat("x", 32<<10) + "'}}\n"
	if err := os.WriteFile(filepath.Join(c.Prefix, "profiles", "site.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	job, err := c.with("--profile site mpiexec app", "_MPIIMPORT_PLAN=old").Run()
	if _, there := environ.Get(job.Env, "_MPIIMPORT_PLAN"); there || err != nil {
		t.Errorf("%v %v", there, err)
	}
}

func TestWhatAPlanLeavesOutIsSaidWhereItIsMade(t *testing.T) {
	c := installed(t, nil)
	text := site + "environment: {default: {A: '${TEXT}'}}\nservice: {store: '${TEXT}/s'}\n"
	if err := os.WriteFile(filepath.Join(c.Prefix, "profiles", "site.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for value, says := range map[string]int{"TEXT=relative": 1, "TEXT=/tmp": 0, "X=": 0} {
		job, err := c.with("--profile site mpiexec app", value).Run()
		if err != nil || len(job.LeftOut) != says {
			t.Errorf("%s: %q %v", value, job.LeftOut, err)
		}
	}
}

func TestMistakesOfRun(t *testing.T) {
	c := installed(t, nil)
	for line, want := range map[string]string{
		"":                         "no launcher given",
		"--":                       "no launcher given",
		"--profile":                "has no value",
		"--profil site -- mpiexec": "no option --profil",
		"--profile sit mpiexec":    "did you mean site?",
	} {
		if _, err := c.with(line).Run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := c.with("mpiexec app", "MPIIMPORT=yes").Run(); err == nil || !strings.Contains(err.Error(), "none of 0, 1, force") {
		t.Error(err)
	}
}

func TestOpenMPIHearsTheNamesOfOurVariables(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	c := installed(t, map[string]string{
		"mpiexec": "echo 'mpiexec (Open MPI) 5.0.11'", "mpirun": "echo HYDRA build details:",
		"prterun": "echo 'prterun (PRRTE) 3.0.14'", "prte": "echo 'prte (PRRTE) 3.0.14'",
		"prun": "echo called >>" + asked,
	})
	const named = " -x PATH -x MPIIMPORT_READERS -x _MPIIMPORT_JOB -x MPIIMPORT -x _MPIIMPORT_PLAN -x PYTHONPATH "
	for line, want := range map[string]string{
		"mpiexec -n 2 app": "mpiexec -x PATH -x MPIIMPORT_READERS -x _MPIIMPORT_JOB -x MPIIMPORT -x _MPIIMPORT_PLAN -x PYTHONPATH -n 2 app",
		"mpiexec -x PATH=/bin -x MPIIMPORT -x PYTHONPATH app": "mpiexec -x MPIIMPORT_READERS -x _MPIIMPORT_JOB -x _MPIIMPORT_PLAN -x PATH=/bin -x MPIIMPORT -x PYTHONPATH app",
		"mpirun -n 2 app":  "mpirun -n 2 app",
		"srun -n 2 app":    "srun -n 2 app",
		"prterun -n 2 app": "prterun" + named + "-n 2 app",
		"prun -n 2 app":    "prun" + named + "-n 2 app",
		"env -u PATH --chdir / B=1 C=mpirun mpiexec app":                         "env -u PATH --chdir / B=1 C=mpirun mpiexec" + strings.Replace(named, " -x PATH", "", 1) + "app",
		"timeout -k 5 --signal=INT 60 mpiexec app":                               "timeout -k 5 --signal=INT 60 mpiexec" + named + "app",
		"numactl -lN 0 --membind 0 --cpunodebind=0 nice -n 5 mpiexec -n 2 app":   "numactl -lN 0 --membind 0 --cpunodebind=0 nice -n 5 mpiexec" + named + "-n 2 app",
		"/usr/bin/time -f %e nohup taskset -c 0,1 stdbuf -oL setsid mpiexec app": "/usr/bin/time -f %e nohup taskset -c 0,1 stdbuf -oL setsid mpiexec" + named + "app",
		"env -- prterun -x PATH -x PYTHONPATH app":                               "env -- prterun -x MPIIMPORT_READERS -x _MPIIMPORT_JOB -x MPIIMPORT -x _MPIIMPORT_PLAN -x PATH -x PYTHONPATH app",
		"apptainer exec img mpiexec app":                                         "apptainer exec img mpiexec app",
		"python sweep.py --launcher mpiexec app":                                 "python sweep.py --launcher mpiexec app",
		"env A=1":                                                                "env A=1",
		"env -i mpiexec app":                                                     "env -i mpiexec app",
		"timeout 60":                                                             "timeout 60",
		"timeout":                                                                "timeout",
	} {
		job, err := c.with(line, "MPIIMPORT_READERS=3").Run()
		if got := strings.Join(job.Args, " "); got != want || err != nil {
			t.Errorf("%s:\n got %s %v\nwant %s", line, got, err, want)
		}
	}
	job, _ := c.with("mpiexec app", openmpiList+"=A;B=1").Run()
	if list, _ := environ.Get(job.Env, openmpiList); list != "A;B=1;PATH;_MPIIMPORT_JOB;MPIIMPORT;_MPIIMPORT_PLAN;PYTHONPATH" || len(job.Args) != 2 {
		t.Errorf("%s %q", list, job.Args)
	}
	// That launcher does not read the list.
	job, _ = c.with("prterun app", openmpiList+"=A;B=1").Run()
	if list, _ := environ.Get(job.Env, openmpiList); list != "A;B=1" || len(job.Args) == 2 {
		t.Errorf("%s %q", list, job.Args)
	}
	// Elsewhere prun is the name of scripts that start jobs.
	if _, err := os.Stat(asked); err == nil {
		t.Error("prun was called")
	}
}

func TestThePlanOfAJobIsForTheUserNamespacesOfItsRuntime(t *testing.T) {
	for setuid, namespace := range map[string]bool{"true": false, "false": true} {
		c := installed(t, map[string]string{"apptainer": ""}).with("--profile site -- srun -n 2 app")
		c.Root = false
		path, _ := environ.Get(c.Env, "PATH")
		if err := os.Mkdir(filepath.Join(c.Prefix, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		record := "runtimes: {" + path + "/apptainer: {flavour: apptainer, setuid: " + setuid + "}}\n"
		if err := os.WriteFile(filepath.Join(c.Prefix, "etc", "launch.yaml"), []byte(record), 0o644); err != nil {
			t.Fatal(err)
		}
		job, err := c.Run()
		text, _ := environ.Get(job.Env, "_MPIIMPORT_PLAN")
		if _, ok := launch.ReadShared(text, launch.Key{Prefix: c.Prefix, Profile: "site", UserNamespace: namespace}); !ok || err != nil {
			t.Errorf("setuid %s: %v %s", setuid, err, text)
		}
	}
}

func TestASessionStandsInFrontOfTheLauncher(t *testing.T) {
	own := "-I -m mpiimport.host session run --ignoring -- srun -n 2 app"
	for _, line := range []string{"--session -- srun -n 2 app", "--profile site --session srun -n 2 app", "--session --profile=site srun -n 2 app"} {
		job, err := installed(t, nil).with(line).Run()
		if err != nil || !strings.HasSuffix(strings.Join(job.Args, " "), own) {
			t.Errorf("%s: %q %v", line, job.Args, err)
		}
	}
	for line, want := range map[string]string{"srun --session": "srun --session", "--profile --session srun": ""} {
		job, err := installed(t, nil).with(line).Run()
		if got := strings.Join(job.Args, " "); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", line, job.Args, err)
		}
	}
	if job, err := installed(t, nil).with("--session srun", "MPIIMPORT=0").Run(); err != nil || strings.Join(job.Args, " ") != "srun" {
		t.Errorf("switched off: %q %v", job.Args, err)
	}
	c := installed(t, nil)
	locked := site + "service: {cache: never}\nlock: [service.cache]\n"
	if err := os.WriteFile(filepath.Join(c.Prefix, "profiles", "site.yaml"), []byte(locked), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.with("--profile site --session srun").Run(); err == nil || !strings.Contains(err.Error(), "locks service.cache") {
		t.Errorf("locked: %v", err)
	}
}

func TestStoresAreLookedAtOnceWhereALauncherStartsTheRanks(t *testing.T) {
	const own = " -I -m mpiimport.host session validate --ignoring -- "
	withHostPython := func(c Call) Call {
		if err := os.MkdirAll(filepath.Join(c.Prefix, "host", "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.Prefix, "host", "bin", "python"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if job, err := installed(t, nil).with("srun app", "MPIIMPORT_CACHE=auto").Run(); err != nil || strings.Join(job.Args, " ") != "srun app" {
		t.Errorf("without a Python for it: %q %v", job.Args, err)
	}
	for _, line := range []string{"srun -n 2 app", "nice mpiexec.hydra -n 2 app"} {
		job, err := withHostPython(installed(t, nil)).with(line, "MPIIMPORT_CACHE=auto").Run()
		if err != nil || !strings.HasSuffix(strings.Join(job.Args, " "), own+line) {
			t.Errorf("%s: %q %v", line, job.Args, err)
		}
	}
	for line, env := range map[string]string{"srun app": "MPIIMPORT_CACHE=never", "mpirun app": "HOME=/none", "sh -c srun": "MPIIMPORT_CACHE=auto"} {
		job, err := withHostPython(installed(t, nil)).with(line, env).Run()
		if got := strings.Join(job.Args, " "); got != line || err != nil {
			t.Errorf("%s: %q %v", line, job.Args, err)
		}
	}
	c := withHostPython(installed(t, map[string]string{"mpirun": "echo 'mpirun (Open MPI) 5.0.11'"}))
	keeps := site + "service: {cache: session}\n"
	if err := os.WriteFile(filepath.Join(c.Prefix, "profiles", "site.yaml"), []byte(keeps), 0o644); err != nil {
		t.Fatal(err)
	}
	job, err := c.with("--profile site mpirun app").Run()
	if line := strings.Join(job.Args, " "); err != nil || !strings.Contains(line, own+"mpirun") || !strings.Contains(line, "-x _MPIIMPORT_STORES_VALIDATED -x _MPIIMPORT_VALIDATED") {
		t.Errorf("%q %v", job.Args, err)
	}
	library := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(library, "names"), 0o755), os.WriteFile(filepath.Join(library, "names", "app"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for line, isBehind := range map[string]bool{"srun python bin/app": true, "srun python other": false} {
		job, err := withHostPython(installed(t, nil)).with(line, "MPIIMPORT_SNAPSHOTS="+library).Run()
		if got := strings.Join(job.Args, " "); err != nil || strings.HasSuffix(got, own+line) != isBehind {
			t.Errorf("%s with a snapshot of app: %q %v", line, job.Args, err)
		}
	}
}
