package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const otherUser = 65534

// site makes a file system of its own, in which root keeps profiles in etc and a user has a home.
type site struct {
	t   *testing.T
	top string
}

func newSite(t *testing.T) site {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files that belong to root and to others")
	}
	s := site{t, t.TempDir()}
	s.must(os.Chmod(s.top, 0o755))
	for _, directory := range []string{"etc/profiles", "prefix/profiles", "home/profiles"} {
		s.must(os.MkdirAll(s.path(directory), 0o755))
	}
	s.must(os.Chown(s.path("home"), otherUser, otherUser))
	s.must(os.Chown(s.path("home/profiles"), otherUser, otherUser))
	write(t, s.path("etc/profiles"), "site", "")
	write(t, s.path("prefix/profiles"), "packaged", "")
	write(t, s.path("home/profiles"), "mine", "")
	s.must(os.Chown(s.path("home/profiles/mine.yaml"), otherUser, otherUser))
	return s
}

func (s site) path(inside string) string { return filepath.Join(s.top, inside) }

func (s site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s site) load(name string) (*Profile, error) {
	root, err := owner(s.top)
	s.must(err)
	return loadTrusted(name, s.top, root, []string{s.path("prefix/profiles"), s.path("etc/profiles"), s.path("none/profiles")})
}

func TestAHookGetsWhatRootKeeps(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"site", "packaged", "default"} {
		if p, err := s.load(name); err != nil || p.Name != name {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestAHookTakesNamesAlone(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{
		"", ".", "..", "/", "mine", s.path("home/profiles/mine.yaml"), s.path("etc/profiles/site.yaml"), "./site", "../profiles/site",
		"../../home/profiles/mine", "site.yaml", "site\x00", "site\n", "si te", "Site", "*", "site/", "prefix\x00/../site",
	} {
		if _, err := s.load(name); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

func TestEveryWayAroundTheTrustOfAHookIsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		attack func(s site)
		says   string
	}{
		"a link to a user's file": {func(s site) {
			s.must(os.Remove(s.path("etc/profiles/site.yaml")))
			s.must(os.Symlink(s.path("home/profiles/mine.yaml"), s.path("etc/profiles/site.yaml")))
		}, "symbolic link"},
		"a link to root's own file": {func(s site) {
			s.must(os.Rename(s.path("etc/profiles/site.yaml"), s.path("etc/other.yaml")))
			s.must(os.Symlink(s.path("etc/other.yaml"), s.path("etc/profiles/site.yaml")))
		}, "symbolic link"},
		"a directory that is a link": {func(s site) {
			s.must(os.Rename(s.path("etc/profiles"), s.path("etc/real")))
			s.must(os.Symlink(s.path("etc/real"), s.path("etc/profiles")))
		}, "symbolic link"},
		"a parent that is a link": {func(s site) {
			s.must(os.Rename(s.path("etc"), s.path("real")))
			s.must(os.Symlink(s.path("real"), s.path("etc")))
		}, "symbolic link"},
		"a file of another user":       {func(s site) { s.must(os.Chown(s.path("etc/profiles/site.yaml"), otherUser, 0)) }, "belongs to user 65534"},
		"a directory of another user":  {func(s site) { s.must(os.Chown(s.path("etc/profiles"), otherUser, 0)) }, "belongs to user 65534"},
		"a parent of another user":     {func(s site) { s.must(os.Chown(s.path("etc"), otherUser, 0)) }, "belongs to user 65534"},
		"a file that all can write":    {func(s site) { s.must(os.Chmod(s.path("etc/profiles/site.yaml"), 0o646)) }, "writable"},
		"a file that a group can":      {func(s site) { s.must(os.Chmod(s.path("etc/profiles/site.yaml"), 0o664)) }, "writable"},
		"a directory that all can":     {func(s site) { s.must(os.Chmod(s.path("etc/profiles"), 0o757)) }, "writable"},
		"a directory that a group can": {func(s site) { s.must(os.Chmod(s.path("etc/profiles"), 0o775)) }, "writable"},
		"a parent like /tmp":           {func(s site) { s.must(os.Chmod(s.path("etc"), 0o777|os.ModeSticky)) }, "writable"},
		"a top that all can write":     {func(s site) { s.must(os.Chmod(s.top, 0o777)) }, "writable"},
		"a directory as a file": {func(s site) {
			s.must(os.Remove(s.path("etc/profiles/site.yaml")))
			s.must(os.Mkdir(s.path("etc/profiles/site.yaml"), 0o755))
		}, "not a regular file"},
		"a user's profile as the base": {func(s site) { write(s.t, s.path("etc/profiles"), "site", "extends: mine\n") }, `no profile "mine"`},
		"a path as the base":           {func(s site) { write(s.t, s.path("etc/profiles"), "site", "extends: ../../home/profiles/mine\n") }, "extends"},
		"a base that all can write": {func(s site) {
			write(s.t, s.path("etc/profiles"), "site", "extends: packaged\n")
			s.must(os.Chmod(s.path("prefix/profiles/packaged.yaml"), 0o666))
		}, "packaged.yaml is writable"},
		"a base that is a link": {func(s site) {
			write(s.t, s.path("etc/profiles"), "site", "extends: mine\n")
			s.must(os.Symlink(s.path("home/profiles/mine.yaml"), s.path("prefix/profiles/mine.yaml")))
		}, "symbolic link"},
	} {
		s := newSite(t)
		c.attack(s)
		if _, err := s.load("site"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFileThatAHookCannotTrustDoesNotUncoverAWeakerOne(t *testing.T) {
	s := newSite(t)
	write(t, s.path("prefix/profiles"), "site", "")
	s.must(os.Chmod(s.path("etc/profiles/site.yaml"), 0o666))
	if _, err := s.load("site"); err == nil || !strings.Contains(err.Error(), "writable") {
		t.Error(err)
	}
}

func TestAHookAsksNeitherEnvironmentNorHome(t *testing.T) {
	s := newSite(t)
	s.must(os.MkdirAll(s.path("home/.config/mpiimport/profiles"), 0o755))
	write(t, s.path("home/.config/mpiimport/profiles"), "secret", "")
	t.Setenv("HOME", s.path("home"))
	t.Setenv("XDG_CONFIG_HOME", s.path("home/.config"))
	t.Setenv("MPIIMPORT_PROFILE", "secret")
	if _, err := s.load("secret"); err == nil {
		t.Error("a user's profile was accepted")
	}
	if _, err := LoadTrusted("secret", s.path("prefix")); err == nil {
		t.Error("a user's profile was accepted")
	}
}

// In a user namespace where root is not mapped, what is root's seems to belong to the owner of the top.
func TestInAUserNamespaceTheOwnerOfTheTopStandsForRoot(t *testing.T) {
	s := newSite(t)
	const overflow = 65533
	for _, inside := range []string{"", "etc", "etc/profiles", "etc/profiles/site.yaml"} {
		s.must(os.Chown(s.path(inside), overflow, overflow))
	}
	if _, err := s.load("site"); err != nil {
		t.Error(err)
	}
	s.must(os.Chown(s.path("etc/profiles/site.yaml"), otherUser, otherUser))
	if _, err := s.load("site"); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Error(err)
	}
}
