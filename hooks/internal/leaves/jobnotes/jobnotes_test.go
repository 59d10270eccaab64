package jobnotes

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mpiimport.org/hooks/internal/leaves/ourvars"
)

func TestNotesAreReadAndNothingStays(t *testing.T) {
	home := t.TempDir()
	d, err := Begin([]string{"HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{ourvars.Job + "=" + d.Path}
	LeadToSnapshot(env)
	Leave(env, Container)
	if notes := d.Read(); len(notes) != 2 {
		t.Errorf("%q", notes)
	}
	ComeBack(env)
	note := filepath.Join(d.Path, "rank-1")
	if err := os.WriteFile(note, []byte("served\n2 ranks: served\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(note, filepath.Join(d.Path, "rank-2")); err != nil {
		t.Fatal(err)
	}
	notes := d.Read()
	if _, container := notes[Container]; len(notes) != 2 || !container || !slices.Equal(notes["rank-1"], []string{"served", "2 ranks: served"}) {
		t.Errorf("%q", notes)
	}
	d.Remove()
	if left, err := os.ReadDir(filepath.Join(home, ".cache")); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestWhatWasLeftByOthersThatWereKilledIsSwept(t *testing.T) {
	cache := t.TempDir()
	env := []string{"XDG_CACHE_HOME=" + cache}
	held, err := Begin(env)
	if err != nil {
		t.Fatal(err)
	}
	left, err := Begin(env)
	if err != nil {
		t.Fatal(err)
	}
	left.lock.Close()
	before := time.Now().Add(-2 * young)
	for _, d := range []Directory{held, left} {
		if err := os.Chtimes(d.Path, before, before); err != nil {
			t.Fatal(err)
		}
	}
	third, err := Begin(env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left.Path); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Stat(held.Path); err != nil {
		t.Error(err)
	}
	held.Remove()
	third.Remove()
}

func TestWhereThereIsNoHomeNothingIsNoted(t *testing.T) {
	for _, env := range [][]string{{}, {"HOME=/"}, {"HOME=home"}, {"XDG_CACHE_HOME=/proc/none"}} {
		if d, err := Begin(env); err == nil {
			t.Errorf("%q: %s", env, d.Path)
		}
	}
	Leave([]string{ourvars.Job + "="}, Container)
	Leave([]string{ourvars.Job + "=/nowhere"}, Container)
}
