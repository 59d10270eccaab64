package ocihook

import (
	"os"
	"path/filepath"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/launch"
)

func TestStoresAreOfTheUserWhoStartsTheContainer(t *testing.T) {
	own := uint32(os.Geteuid())
	inside := specs.LinuxNamespace{Type: specs.UserNamespace}
	for name, c := range map[string]struct {
		user uint32
		ids  []specs.LinuxIDMapping
		ns   []specs.LinuxNamespace
		want bool
	}{
		"this user":                  {user: own, want: true},
		"the image's user":           {user: own + 1},
		"by a mapping":               {user: 1000, ids: []specs.LinuxIDMapping{{ContainerID: 1000, HostID: own, Size: 1}}, ns: []specs.LinuxNamespace{inside}, want: true},
		"another by a mapping":       {user: own, ids: []specs.LinuxIDMapping{{ContainerID: 0, HostID: 100000, Size: 65536}}, ns: []specs.LinuxNamespace{inside}},
		"a namespace that is joined": {user: own, ns: []specs.LinuxNamespace{{Type: specs.UserNamespace, Path: "/proc/7/ns/user"}}},
	} {
		c2 := &config{user: c.user, userIDs: c.ids, namespaces: c.ns}
		if got := c2.isCallers(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOnlyAReleasedProfileKeepsStoresAndNoContainerSaysItsImage(t *testing.T) {
	asked := with(t, func(c map[string]any) {
		annotate("default")(c)
		object(c, "process")["env"] = []string{ourvars.Cache + "=auto", ourvars.Image + "=layers:mine 0"}
		object(c, "root")["path"] = filepath.Join(t.TempDir(), "merged")
	})
	for _, keeps := range []bool{false, true} {
		h := host("")
		h.MayCache = func(string) bool { return keeps }
		c := edited(t, asked, h)
		if said, ok := environ.Get(c.env, ourvars.Image); ok || c.mountAt(launch.CachePath) >= 0 {
			t.Errorf("%v: %q", keeps, said)
		}
	}
}

func TestTheBirthOfADirectoryIsKnown(t *testing.T) {
	directory := t.TempDir()
	info, err := os.Stat(directory)
	if err != nil {
		t.Fatal(err)
	}
	if born := birth(directory); born == 0 || born > info.ModTime().UnixNano() {
		t.Error(born, info.ModTime().UnixNano())
	}
	if born := birth(filepath.Join(directory, "none")); born != 0 {
		t.Error(born)
	}
}

func TestContainersThatMayDoOtherThingsAreToldApart(t *testing.T) {
	confined := func(change func(c map[string]any)) string {
		c, err := parse(with(t, change))
		if err != nil {
			t.Fatal(err)
		}
		return c.confined()
	}
	first := confined(func(map[string]any) {})
	if first == "" || first != confined(func(c map[string]any) { object(c, "process")["env"] = []string{"A=1"} }) {
		t.Error("what it may do follows from something else, too:", first)
	}
	for name, change := range map[string]func(c map[string]any){
		"a filter": func(c map[string]any) {
			object(c, "linux")["seccomp"] = map[string]any{"defaultAction": "SCMP_ACT_ERRNO"}
		},
		"capabilities": func(c map[string]any) {
			object(c, "process")["capabilities"] = map[string]any{"bounding": []string{"CAP_KILL"}}
		},
		"a user": func(c map[string]any) { object(c, "process")["user"] = map[string]any{"uid": 7, "gid": 7} },
	} {
		if confined(change) == first {
			t.Errorf("%s makes no difference", name)
		}
	}
}
