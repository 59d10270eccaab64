package nodecontainer

import (
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/entrypoints/apptainercli"
)

func split(line string, env ...string) (Commands, string) {
	parsed := apptainercli.Parse(strings.Fields(line))
	return Split(parsed, []string{"/p:/.mpiimport:ro"}, append([]string{"/entry"}, parsed.Command()...), env)
}

func TestAStartIsDividedAmongContainerAndProcess(t *testing.T) {
	for line, want := range map[string][2]string{
		"exec img python a.py": {"img N", "exec instance://N /entry python a.py"},
		"-q exec -B /a,/b --nv --bind=/c:/d img x --nv": {
			"--bind=/a,/b --nv=true --bind=/c:/d img N", "-q exec instance://N /entry x --nv"},
		"exec -e --pwd /w --env A=b --env C=d -u img x": {
			"--userns=true img N", "exec --cleanenv=true --pwd=/w --env=A=b --env=C=d instance://N /entry x"},
		"exec --drop-caps CAP_KILL --mpiimport=p -- img x": {
			"--drop-caps=CAP_KILL img N", "exec --drop-caps=CAP_KILL instance://N /entry x"},
	} {
		c, reason := split(line)
		if reason != "" {
			t.Errorf("%s: %s", line, reason)
		}
		start := strings.Join(c.Start("/p", "N"), " ")
		start = strings.Replace(start, "--bind /p/bin/mpiimport-keeper:/.singularity.d/startscript:ro ", "", 1)
		if want := "instance start --bind /p:/.mpiimport:ro " + want[0]; start != want {
			t.Errorf("%s:\n got %s\nwant %s", line, start, want)
		}
		if join := strings.Join(c.Join("N"), " "); join != want[1] {
			t.Errorf("%s:\n got %s\nwant %s", line, join, want[1])
		}
	}
}

func TestWhatRanksCannotShareSaysWhy(t *testing.T) {
	for line, why := range map[string]string{
		"exec --pid img x": "--pid", "exec -C img x": "--containall", "exec --compat img x": "--compat",
		"exec --net img x": "--net", "exec --memory 1G img x": "--memory", "exec --sharens img x": "--sharens",
		"exec docker://debian x": "not a file", "run img x": "only what exec starts",
		"--config /c exec img x": "configuration", "-c /c exec img x": "configuration",
	} {
		if _, reason := split(line); !strings.Contains(reason, why) {
			t.Errorf("%s: %q", line, reason)
		}
	}
	for variable, unsuited := range map[string]bool{
		"APPTAINER_PID=1": true, "SINGULARITY_UNSHARE_PID=true": true, "APPTAINER_CONFIG_FILE=/c": true, "APPTAINER_COMPAT=1": true,
		"APPTAINER_PID=0": false, "APPTAINER_NET=": false, "APPTAINER_BIND=/a": false, "APPTAINER_CACHEDIR=/c": false,
		"APPTAINERENV_PID=1": false, "PID=1": false, "APPTAINER_DROP_CAPS=CAP_KILL": false, "APPTAINER_NV=1": false,
	} {
		if _, reason := split("exec img x", variable); (reason != "") != unsuited {
			t.Errorf("%s: %q", variable, reason)
		}
	}
}

func TestALoneRankStartsItsOwn(t *testing.T) {
	for variables, want := range map[string]bool{
		"PMI_RANK=0 MPI_LOCALNRANKS=1": false, "PMI_RANK=0 MPI_LOCALNRANKS=2": true,
		"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=1": false, "PMIX_RANK=0": true, "HOME=/h": false,
	} {
		if Pays(strings.Fields(variables)) != want {
			t.Error(variables)
		}
	}
}

func TestWhatMadeTheContainerIsBehindAProcessInIt(t *testing.T) {
	env := strings.Fields("APPTAINER_BIND=/a SINGULARITY_BINDPATH=/b APPTAINER_FAKEROOT=1 APPTAINER_CLEANENV=1 APPTAINERENV_A=b HOME=/h APPTAINER_CONFIGDIR=/old")
	want := "APPTAINER_CLEANENV=1 APPTAINERENV_A=b HOME=/h APPTAINER_CONFIGDIR=/new SINGULARITY_CONFIGDIR=/new"
	if got := strings.Join(inside(env, "/new"), " "); got != want {
		t.Error(got)
	}
}
