package jobend

import (
	"strings"
	"testing"
)

func TestOneLineSaysWhatAJobGot(t *testing.T) {
	for _, c := range []struct {
		notes string // between commas; words of a note behind a colon, lines between slashes
		line  string
		seen  bool
		want  string
	}{
		{"rank-1:served/2 ranks: served; 5 of 6 modules", "mpiexec python app.py", true, "2 ranks: served; 5 of 6 modules"},
		{"rank-1:said/1 rank: plain because", "mpiexec python app.py", true, ""},
		{"rank-1:served/x,rank-2:served/x,rank-3:said/x,rank-4:plain/x", "sh job.sh", true, "4 programs: 2 plain, 2 served"},
		{"rank-1:served/2 ranks: served,task-plain:plain/plain because", "sh job.sh", true, "2 ranks: served"},
		{"task-from a cached store:from a cached store/from a cached store", "python app.py", true, "tasks: from a cached store"},
		{"task-plain:plain/plain because X", "python app.py", true, "tasks: plain because X"},
		{"rank-1:served/bad\x1b[31m", "mpiexec python app.py", true, `bad\x1b[31m`},
		{"", "mpiexec ./go.sh", true, "no rank of this job took part, as far as is seen here: PYTHONPATH was changed"},
		{"", "mpiexec python -u -I app.py", true, "python has the option -I,"},
		{"", "mpiexec python -u -I app.py", true, "start the program by /prefix/bin/python-mpi"},
		{"", "mpiexec ./go.sh", false, ""},
		{"", "./go.sh", true, ""},
		{"container:", "mpiexec singularity exec img ./go.sh", true, ""},
		{"container:,inside:", "mpiexec singularity exec img ./go.sh", false, "start the program by /.mpiimport/bin/python-mpi"},
		{"", "mpiexec podman run img python app.py", true, ""},
	} {
		notes := map[string][]string{}
		for _, note := range strings.Split(c.notes, ",") {
			if name, text, isOne := strings.Cut(note, ":"); isOne {
				notes[name] = strings.Split(text, "/")
			}
		}
		job := Job{Line: strings.Fields(c.line), Env: []string{"PATH=/nowhere"}, Prefix: "/prefix", Notes: notes, Shared: c.seen, Launches: c.line[0] == 'm'}
		got := strings.Join(job.Lines(), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || c.want != "" && !strings.HasPrefix(got, "mpiimport: ") {
			t.Errorf("%q %s: %q, want %q", c.notes, c.line, got, c.want)
		}
	}
}

func TestWhetherAllRanksSeeADirectory(t *testing.T) {
	for line, want := range map[string]bool{
		"mpiexec -n 2 app": true, "mpiexec -hosts a,b -n 2 app": false, "mpirun --hostfile=x app": false,
		"mpirun -H a app": false, "srun app": false,
	} {
		if got := IsSeen(t.TempDir(), strings.Fields(line), nil); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
	for variables, want := range map[string]bool{
		"": true, "SLURM_JOB_ID=1": false, "SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=1": true, "PBS_JOBID=1 PBS_NUM_NODES=4": false,
	} {
		if got := IsSeen(t.TempDir(), []string{"mpiexec", "app"}, strings.Fields(variables)); got != want {
			t.Errorf("%s: %t", variables, got)
		}
	}
}
