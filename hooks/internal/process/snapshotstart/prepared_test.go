package snapshotstart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
)

// prepared returns an environment with a library, and what that has for a program: it was published so long ago.
func prepared(t *testing.T, options, words []string, ago time.Duration) ([]string, string) {
	t.Helper()
	library := t.TempDir()
	if err := os.Chmod(library, 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/a", "MPIIMPORT_SNAPSHOTS=" + library}
	name, facts, err := Key("/p", "python3", options, words, env)
	if err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(library, name)
	for _, directory := range []string{entry, filepath.Join(library, Begin(facts, words))} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	since := filepath.Join(entry, "since")
	write(t, since, "")
	write(t, filepath.Join(entry, headFile), head)
	write(t, filepath.Join(library, Begin(facts, words), name), "")
	if err := os.Chtimes(since, time.Now(), time.Now().Add(-ago)); err != nil {
		t.Fatal(err)
	}
	return env, entry
}

func TestWhatWasPreparedIsStartedFrom(t *testing.T) {
	for options, want := range map[string]string{
		"":   "/p/bin/mpiimport-restore --python-mpi /p/bin/python-mpi --python python3 --key KEY --renew ENTRY /app.py a",
		"-u": "/p/bin/mpiimport-restore --python-mpi /p/bin/python-mpi --python python3 --option -u --key KEY --renew ENTRY /app.py a",
	} {
		given, words := strings.Fields(options), []string{"/app.py", "a"}
		env, entry := prepared(t, given, words, 0)
		found, early := FindPrepared("/p", "python3", given, words, env)
		if found == nil || early != nil || found.entry.Path != entry {
			t.Fatal(found, early)
		}
		got := strings.Join(found.Command("/p", "python3", given, words, env), " ")
		if got = strings.NewReplacer(entry, "ENTRY", filepath.Base(entry), "KEY").Replace(got); got != want {
			t.Error(got)
		}
		got = strings.Join(found.Base().Command("/p", "python3", given, words, env), " ")
		if !strings.HasSuffix(got, " --base "+entry+" /app.py a") {
			t.Error(got)
		}
		got = strings.Join(found.Command("/p", "python3", given, words, environ.Set(env, "MPIIMPORT_PREPARE", "never")), " ")
		if strings.Contains(got, "--renew") {
			t.Error(got)
		}
		got = strings.Join(found.Command("/p", "python3", given, words, environ.Set(env, "_MPIIMPORT_IMAGE", "file:1")), " ")
		if !strings.Contains(got, " --immutable "+entry) {
			t.Error(got)
		}
	}
}

func TestNothingElseIsStartedFromALibrary(t *testing.T) {
	words := []string{"/app.py"}
	env, entry := prepared(t, nil, words, time.Hour)
	for name, found := range map[string]func() (*Prepared, error){
		"another program": func() (*Prepared, error) { return FindPrepared("/p", "python3", nil, []string{"/other.py"}, env) },
		"an option":       func() (*Prepared, error) { return FindPrepared("/p", "python3", []string{"-O"}, words, env) },
		"-c":              func() (*Prepared, error) { return FindPrepared("/p", "python3", nil, []string{"-c", "pass"}, env) },
		"no": func() (*Prepared, error) {
			return FindPrepared("/p", "python3", nil, words, append(env, "MPIIMPORT_SNAPSHOT=0"))
		},
		"off": func() (*Prepared, error) {
			return FindPrepared("/p", "python3", nil, words, append(env, "MPIIMPORT=0"))
		},
		"to be made": func() (*Prepared, error) {
			return FindPrepared("/p", "python3", nil, words, append(env, "MPIIMPORT_FILL=1"))
		},
		"no library": func() (*Prepared, error) { return FindPrepared("/p", "python3", nil, words, []string{"PATH=/a"}) },
		"a container": func() (*Prepared, error) {
			return FindPrepared("/.mpiimport", "python3", nil, words, []string{"PATH=/a", "HOME=/"})
		},
		"open to others": func() (*Prepared, error) {
			if err := os.Chmod(filepath.Dir(entry), 0o777); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(filepath.Dir(entry), 0o700)
			return FindPrepared("/p", "python3", nil, words, env)
		},
	} {
		if prepared, early := found(); prepared != nil || early != nil {
			t.Error(name, prepared, early)
		}
	}
}

func TestAllRanksOfAJobSeeAnEntryOrNone(t *testing.T) {
	words := []string{"/app.py"}
	const one, several = "PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=2", "PMI_RANK=0 PMI_SIZE=4 MPI_LOCALNRANKS=2"
	for _, c := range []struct {
		ago   time.Duration
		ranks string
		early bool
	}{
		{0, "", false}, {0, one, true}, {3 * time.Second, one, false}, {time.Minute, several, true}, {3 * time.Minute, several, false},
	} {
		env, _ := prepared(t, nil, words, c.ago)
		found, early := FindPrepared("/p", "python3", nil, words, append(env, strings.Fields(c.ranks)...))
		if (found == nil) != c.early || (early != nil) != c.early {
			t.Error(c, found, early)
		}
	}
}

func TestScriptsThatBeginAlikeStartFromTheBaseOfOne(t *testing.T) {
	env, entry := prepared(t, nil, []string{"/app.py"}, time.Hour)
	other := filepath.Join(t.TempDir(), "other.py")
	write(t, other, head+"print()\n")
	found, _ := FindPrepared("/p", "python3", nil, []string{other}, env)
	if found == nil || !strings.HasSuffix(strings.Join(found.Command("/p", "python3", nil, []string{other}, env), " "),
		" --key "+filepath.Base(entry)+" --base "+entry+" "+other) {
		t.Fatal(found)
	}
	write(t, other, "import os\n"+head)
	if found, _ := FindPrepared("/p", "python3", nil, []string{other}, env); found != nil {
		t.Error(found)
	}
}
