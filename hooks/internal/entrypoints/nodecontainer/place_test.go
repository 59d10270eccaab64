package nodecontainer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func newPlace(t *testing.T) place {
	t.Helper()
	p := placeOf("test-" + filepath.Base(t.TempDir()) + t.Name())
	t.Cleanup(func() { _ = os.RemoveAll(string(p)) })
	return p
}

func enter(t *testing.T, p place) int {
	t.Helper()
	fd, err := p.enter()
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestAPlaceIsFreeWhenTheLastRankHasGone(t *testing.T) {
	p := newPlace(t)
	first, second := enter(t, p), enter(t, p)
	for _, fd := range []int{first, second} {
		if _, err := p.lock("ranks", syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EWOULDBLOCK {
			t.Errorf("it is free while a rank is there: %v", err)
		}
		_ = syscall.Close(fd)
	}
	fd, err := p.lock("ranks", syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		t.Error(err)
	}
	_ = syscall.Close(fd)
}

func TestWhoComesWhenItIsTakenAwayMakesANewOne(t *testing.T) {
	p := newPlace(t)
	_ = syscall.Close(enter(t, p))
	if err := p.decide("old"); err != nil {
		t.Fatal(err)
	}
	keeper, err := p.lock("ranks", syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan string)
	go func() {
		fd, err := p.enter()
		if err != nil {
			came <- err.Error()
			return
		}
		defer func() { _ = syscall.Close(fd) }()
		came <- "state: " + p.state()
	}()
	p.remove()
	_ = syscall.Close(keeper)
	if got := <-came; got != "state: " {
		t.Error(got)
	}
}

func TestAPlaceOfSomebodyElseIsRefused(t *testing.T) {
	p := newPlace(t)
	if err := os.Mkdir(string(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := p.enter(); err == nil {
		t.Error("an open directory is entered")
	}
	_ = os.Remove(string(p))
	if err := os.Symlink(t.TempDir(), string(p)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.enter(); err == nil {
		t.Error("a symbolic link is followed")
	}
}

func TestOneKeeperDecidesForAll(t *testing.T) {
	p := newPlace(t)
	ranks := enter(t, p)
	defer func() { _ = syscall.Close(ranks) }()
	count := filepath.Join(t.TempDir(), "count")
	// The lock is the keeper's as long as any process has descriptor 3.
	script := `(sleep 0.3; printf %s ready > "$0/state") & echo x >> "$1"`
	said := make(chan string)
	for range 8 {
		go func() {
			state, err := p.settled(exec.Command("/bin/sh", "-c", script, string(p), count))
			if err != nil {
				state = err.Error()
			}
			said <- state
		}()
	}
	for range 8 {
		if state := <-said; state != ready {
			t.Error(state)
		}
	}
	if text, _ := os.ReadFile(count); strings.Count(string(text), "x") != 1 {
		t.Errorf("keepers: %s", text)
	}
}

func TestAKeeperThatDiesIsNotWaitedFor(t *testing.T) {
	p := newPlace(t)
	ranks := enter(t, p)
	defer func() { _ = syscall.Close(ranks) }()
	state, err := p.settled(exec.Command("/bin/sh", "-c", "(sleep 0.1; exit) &"))
	if err != nil || !strings.Contains(state, "keeper ended") {
		t.Errorf("%q %v", state, err)
	}
}

func TestTheRuntimesComplaintIsQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"INFO: a\nFATAL:   no  room\nUsage: x\n":       "FATAL: no room",
		"ERROR: cleanup\nFATAL: cause\n\nFATAL: all\n": "FATAL: cause",
		"ERROR: first\nERROR: second\nUsage: x\n":      "ERROR: first",
		"something\n\n": "something",
		"":              "",
	} {
		if got := complaint(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestASweepTakesWhatNobodyUsesAndNothingElse(t *testing.T) {
	for held, gone := range map[string]bool{"": true, "ranks": false, "start": false} {
		p := newPlace(t)
		_ = syscall.Close(enter(t, p))
		if held != "" {
			fd, err := p.lock(held, syscall.LOCK_EX)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Close(fd) }()
		}
		sweep()
		if _, err := os.Stat(string(p)); os.IsNotExist(err) != gone {
			t.Errorf("%q is held: %v", held, err)
		}
		_ = os.RemoveAll(string(p))
	}
}
