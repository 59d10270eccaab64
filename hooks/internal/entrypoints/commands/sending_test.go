package commands

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSnapshotsAreSentInLargeJobs(t *testing.T) {
	library := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(library, "names"), 0o755), os.WriteFile(filepath.Join(library, "names", "app"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	const slurm, flux = "SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=", "FLUX_JOB_ID=1"
	for name, each := range map[string]struct{ profile, line, env, sends string }{
		"a large job":                 {"", "srun app", slurm + "33", "sbcast {file} {to}"},
		"a small one":                 {"", "srun app", slurm + "32", ""},
		"from fewer on":               {"snapshot: {nodes: 4}", "srun app", slurm + "4", "sbcast {file} {to}"},
		"off":                         {"snapshot: {broadcast: 'off'}", "srun app", slurm + "99", ""},
		"no launcher":                 {"", "sh -c app", slurm + "99", ""},
		"in a session":                {"", "--session srun app", slurm + "99", ""},
		"another program":             {"", "srun other", slurm + "99", ""},
		"no snapshots":                {"service: {snapshot: false}", "srun app", slurm + "99", ""},
		"no batch job":                {"", "mpirun app", "", ""},
		"another batch system":        {"", "mpirun app", flux, ""},
		"one with commands":           {"snapshot: {broadcast: 'x', remove: 'y'}", "mpirun app", flux, "x"},
		"one with half of them":       {"snapshot: {broadcast: 'x'}", "mpirun app", flux, ""},
		"one that says how many":      {"snapshot: {broadcast: 'x', remove: 'y'}", "mpirun app", "PBS_JOBID=1 PBS_NUM_NODES=32", ""},
		"Slurm with another command":  {"snapshot: {broadcast: 'x'}", "srun app", slurm + "33", "x"},
		"switched off, in large jobs": {"", "srun app", "MPIIMPORT=0 " + slurm + "99", ""},
	} {
		c := installed(t, nil)
		if err := os.WriteFile(filepath.Join(c.Prefix, "profiles", "site.yaml"), []byte(site+each.profile+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		env := append(strings.Fields(each.env), "MPIIMPORT_SNAPSHOTS="+library)
		job, err := c.with("--profile site "+each.line, env...).Run()
		sends := ""
		if job.Sending != nil {
			sends = job.Sending.Commands.Send
		}
		if err != nil || sends != each.sends {
			t.Errorf("%s: %q, and not %q, is sent by (%v)", name, sends, each.sends, err)
		}
	}
}
