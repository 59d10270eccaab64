package profile

import (
	"path/filepath"
	"strings"
	"testing"
)

const lockingBase = `
mounts: [{source: /opt/site}]
environment:
  set: {A: site, B: site}
service: {store: /dev/shm}
lock: [service.store, environment.set.A, environment.set.LD_PRELOAD, mounts, container]
`

func TestWhatIsLockedCannotBeChangedByWhatExtends(t *testing.T) {
	for name, c := range map[string]struct{ body, locked string }{
		"another value":                  {"service: {store: /tmp}", "service.store"},
		"a variable":                     {"environment: {set: {A: mine}}", "environment.set.A"},
		"a variable, by appending":       {"environment: {append: {A: mine}}", "environment.set.A"},
		"a variable, by a default":       {"environment: {default: {A: mine}}", "environment.set.A"},
		"a variable, by removing it":     {"environment: {unset: [A]}", "environment.set.A"},
		"a variable, in user namespaces": {"user_namespace: {environment: {set: {A: mine}}}", "environment.set.A"},
		"a variable that is not set":     {"environment: {set: {LD_PRELOAD: mine.so}}", "environment.set.LD_PRELOAD"},
		"a variable of the caller":       {"environment: {keep: [LD_PRELOAD]}", "environment.set.LD_PRELOAD"},
		"a pattern that matches it":      {"environment: {keep: ['LD_*']}", "environment.set.LD_PRELOAD"},
		"a longer list":                  {"mounts: [{source: /home}]", "mounts"},
		"an empty section":               {"container: {per_node: true}", "container"},
	} {
		directory := t.TempDir()
		write(t, directory, "base", lockingBase)
		write(t, directory, "mine", "extends: base\n"+c.body+"\n")
		_, err := Load("mine", []string{directory})
		if err == nil {
			t.Errorf("%s was accepted", name)
			continue
		}
		for _, words := range []string{filepath.Join(directory, "mine.yaml:"), filepath.Join(directory, "base.yaml"), c.locked, "; "} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %q is missing in: %v", name, words, err)
			}
		}
	}
}

func TestWhatIsNotLockedCanBeChanged(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "base", lockingBase)
	write(t, directory, "mine", "extends: base\nenvironment: {set: {A: site, B: mine}}\nservice: {store: /dev/shm, readers: 2}\n")
	p, err := Load("mine", []string{directory})
	if err != nil || p.Environment.Set["B"] != "mine" || p.Service["readers"] != "2" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestALockHoldsForAllThatFollow(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "one", "service: {store: /one}\nlock: [service.store]\n")
	write(t, directory, "two", "extends: one\nlock: [service.readers]\n")
	write(t, directory, "three", "extends: two\nservice: {store: /three}\n")
	write(t, directory, "four", "extends: two\nservice: {readers: 4}\n")
	for _, name := range []string{"three", "four"} {
		if _, err := Load(name, []string{directory}); err == nil || !strings.Contains(err.Error(), "locks") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAProfileThatMasksAnotherObeysItsLocks(t *testing.T) {
	site, user := t.TempDir(), t.TempDir()
	write(t, site, "site", lockingBase)
	for name, c := range map[string]struct {
		body   string
		obeyed bool
	}{
		"nothing of it":    {"", false},
		"other values":     {strings.Replace(lockingBase, "/dev/shm", "/tmp", 1), false},
		"the same":         {lockingBase, true},
		"the same, longer": {lockingBase + "hosts: [login1]\n", true},
		"it, extended":     {"extends: site\nservice: {readers: 2}\n", true},
	} {
		write(t, user, "site", c.body)
		_, err := Load("site", []string{site, user})
		_, byPath := Load(filepath.Join(user, "site.yaml"), []string{site})
		if c.obeyed != (err == nil) || c.obeyed != (byPath == nil) {
			t.Errorf("%s: %v, %v", name, err, byPath)
		}
		if err != nil && !(strings.Contains(err.Error(), filepath.Join(site, "site.yaml")) && strings.Contains(err.Error(), filepath.Join(user, "site.yaml"))) {
			t.Errorf("%s: not both files are named: %v", name, err)
		}
	}
}

func TestWhatASitesProfileExtendsCannotBeMaskedByAUser(t *testing.T) {
	site, user := t.TempDir(), t.TempDir()
	write(t, site, "base", "service: {store: /site}\n")
	write(t, site, "site", "extends: base\nlock: [service.store]\n")
	write(t, user, "base", "service: {store: /user}\n")
	p, err := Load("site", []string{site, user})
	if err != nil || p.Service["store"] != "/site" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = Load("base", []string{site, user}); err != nil || p.Service["store"] != "/user" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAMaskedProfileThatIsBrokenLocksNothing(t *testing.T) {
	site, user := t.TempDir(), t.TempDir()
	write(t, site, "site", "lock: [nothing]\n")
	write(t, user, "site", "")
	if _, err := Load("site", []string{site, user}); err != nil {
		t.Error(err)
	}
}
