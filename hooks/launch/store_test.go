package launch

import (
	"reflect"
	"testing"

	"mpiimport.org/hooks/profile"
)

func TestAContainerThatKeepsStoresKnowsItsImage(t *testing.T) {
	plan := Plan{Mounts: []Mount{{"/sw/mpiimport", "/.mpiimport", "ro"}}}
	kept := plan.WithCache(ImageCache{Directory: "/dev/shm/mpiimport-cache.7/images/1", Image: "sha256:1", Born: 42})
	if len(plan.Mounts) != 1 || !reflect.DeepEqual(kept.Mounts[1], Mount{"/dev/shm/mpiimport-cache.7/images/1", "/.mpiimport-cache", "rw"}) {
		t.Errorf("%+v", kept.Mounts)
	}
	if got := find(kept, "_MPIIMPORT_IMAGE"); got == nil || *got != (Variable{"_MPIIMPORT_IMAGE", "layers:sha256:1 42", Set}) {
		t.Errorf("%+v", got)
	}
}

func TestTheStoreGetsAPlaceWhereDevShmIsNone(t *testing.T) {
	prefix, shared := Mount{"/sw/mpiimport", "/.mpiimport", "ro"}, Mount{"/dev/shm", StorePath, "rw"}
	named := profile.Default()
	named.Service = profile.Service{"store": "/scratch"}
	for name, c := range map[string]struct {
		profile *profile.Profile
		shm     Shm
		own     bool
		env     []string
		mounts  []Mount
		memory  []string
		store   string
	}{
		"Apptainer's":            {shm: ShmHost, mounts: []Mount{prefix}},
		"its own":                {own: true, mounts: []Mount{prefix}},
		"its own, nothing kept":  {own: true, env: []string{"MPIIMPORT_CACHE=never", "MPIIMPORT_FILL=0"}, mounts: []Mount{prefix}},
		"its own, kept":          {own: true, env: []string{"MPIIMPORT_CACHE=auto"}, mounts: []Mount{prefix, shared}, store: StorePath},
		"its own, filled":        {own: true, env: []string{"MPIIMPORT_FILL=1"}, mounts: []Mount{prefix, shared}, store: StorePath},
		"the host's, kept":       {env: []string{"MPIIMPORT_CACHE=auto"}, mounts: []Mount{prefix}},
		"private":                {shm: ShmPrivate, mounts: []Mount{prefix}, memory: []string{StorePath}, store: StorePath},
		"the host's, noexec":     {shm: ShmNoExec, mounts: []Mount{prefix, shared}, store: StorePath},
		"the profile names one":  {profile: named, shm: ShmPrivate, mounts: []Mount{prefix}, store: "/scratch"},
		"so does the caller":     {shm: ShmNoExec, env: []string{"MPIIMPORT_STORE=/mine"}, mounts: []Mount{prefix}, store: "/mine"},
		"the caller's is strong": {profile: named, shm: ShmPrivate, env: []string{"MPIIMPORT_STORE=/mine"}, mounts: []Mount{prefix}, store: "/mine"},
	} {
		r := request()
		r.Shm, r.OwnShm, r.Environ = c.shm, c.own, c.env
		if c.profile == nil {
			c.profile = profile.Default()
		}
		plan, err := Resolve(c.profile, r)
		if err != nil || !reflect.DeepEqual(plan.Mounts, c.mounts) || !reflect.DeepEqual(plan.Memory, c.memory) {
			t.Errorf("%s: %v, %+v", name, err, plan)
		}
		if got := find(plan, storeVariable); (got == nil) != (c.store == "") || (got != nil && got.Value != c.store) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
