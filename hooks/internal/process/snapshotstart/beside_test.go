package snapshotstart

import (
	"path/filepath"
	"testing"
)

func TestProcessorsAreCounted(t *testing.T) {
	for text, want := range map[string]int{"0-3\n": 4, "0\n": 1, "0,2-3,8-15\n": 11, "": 0, "a-b": 0, "3-1": 0, "1-": 0} {
		file := filepath.Join(t.TempDir(), "online")
		write(t, file, text)
		if found := processors(file); found != want {
			t.Errorf("%q: %d", text, found)
		}
	}
	if processors(filepath.Join(t.TempDir(), "none")) != 0 {
		t.Error("a file that is not there")
	}
}

func TestWithoutBeingAskedNothingIsBegun(t *testing.T) {
	library := t.TempDir()
	for _, env := range [][]string{
		{"PATH=/a", "MPIIMPORT_SNAPSHOTS=" + library},
		{"PATH=/a", "MPIIMPORT_SNAPSHOTS=" + library, "MPIIMPORT_PREPARE=auto", "PMI_RANK=1"},
		{"PATH=/a", "MPIIMPORT_SNAPSHOTS=" + library, "MPIIMPORT_PREPARE=auto", "MPIIMPORT_SNAPSHOT=0"},
		{"PATH=bin", "MPIIMPORT_SNAPSHOTS=" + library, "MPIIMPORT_PREPARE=auto"},
	} {
		if Prepare("/p", "python3", nil, []string{"/app.py"}, env) {
			t.Error(env)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(library, "*")); len(names) != 0 {
		t.Error(names)
	}
}
