package launch

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/sharedlib"
)

// host is a machine with these libraries, each with what it needs.
func host(libraries map[string][]string, cached ...string) Request {
	r := request()
	r.Exists = func(file string) bool { _, ok := libraries[file]; return ok }
	r.Glob = func(pattern string) ([]string, error) {
		out := []string{}
		for file := range libraries {
			for _, place := range []string{file, path.Dir(file)} {
				if ok, _ := path.Match(pattern, place); ok && !slices.Contains(out, place) {
					out = append(out, place)
				}
			}
		}
		return out, nil
	}
	r.Inspect = func(file string) (sharedlib.Library, error) {
		needed, ok := libraries[file]
		if !ok {
			return sharedlib.Library{}, errors.New(file + ": no such file")
		}
		return sharedlib.Library{Path: file, Soname: path.Base(file), Needed: needed, Places: []string{"/usr/lib64"}}, nil
	}
	r.Loads = func(name string) []string {
		return slices.DeleteFunc(slices.Clone(cached), func(file string) bool { return path.Base(file) != name })
	}
	return r
}

func TestWhatAnInjectedMPINeedsIsBroughtFromWhereItLies(t *testing.T) {
	for name, c := range map[string]struct {
		mpi  string
		from string
		want map[string]bool // whether it is the system's
	}{
		"an MPI of its own directory": {
			"/opt/mpi/2.10", "/opt/mpi/*", map[string]bool{"libmpi.so.12": false, "libfabric.so.1": false, "libz.so.1": true},
		},
		// All of the system is in the directory then; what of it the image has stays the image's.
		"an MPI of the system": {
			"/usr/lib64", "/usr/lib64", map[string]bool{"libmpi.so.12": false, "libfabric.so.1": true, "libz.so.1": true},
		},
	} {
		r := host(map[string][]string{
			c.mpi + "/libmpi.so.12":      {"libfabric.so.1", "libc.so.6"},
			c.mpi + "/libmpi.so.12.1":    {"libnowhere.so.1"},
			"/opt/mpi/2.9/libmpi.so.12":  {},
			c.mpi + "/libfabric.so.1":    {"libz.so.1", "libm.so.6"},
			"/usr/lib64/libz.so.1":       {"libc.so.6"},
			"/usr/lib64/libunused.so.1":  {},
			"/opt/mpi/words/notes.so.12": {},
		}, "/usr/lib64/libz.so.1", "/usr/lib64/libfabric.so.1")
		plan, err := Resolve(parse(t, "mpi: {abi: mpich, inject: {from: '"+c.from+"'}}\n"), r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]bool{}
		for _, l := range plan.Inject.Libraries {
			got[l.Name] = l.System
			mounted := Mount{l.Source, l.Target(), "ro"}
			if !slices.Contains(plan.Mounts, mounted) {
				t.Errorf("%s: %+v is not among %+v", name, mounted, plan.Mounts)
			}
		}
		if plan.Inject.From != c.mpi || len(got) != len(c.want) {
			t.Errorf("%s: %+v", name, plan.Inject)
		}
		for library, system := range c.want {
			if now, there := got[library]; !there || now != system {
				t.Errorf("%s: %s: there %v, the system's %v", name, library, there, now)
			}
		}
		if v := find(plan, "MPI4PY_LIBMPI"); v == nil || v.Value != MPIPath+"/libmpi.so.12" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestAnInjectionThatCannotWorkIsRefused(t *testing.T) {
	whole := map[string][]string{"/opt/mpi/libmpi.so.12": {"libfabric.so.1"}, "/opt/empty/libfabric.so.1": {}}
	for body, want := range map[string]string{
		"inject: {from: /opt/nothing}":                                   "no directory of this host is called /opt/nothing",
		"inject: {from: /opt/empty}":                                     "/opt/empty has no MPI library",
		"inject: {from: /opt/mpi}":                                       "/opt/mpi/libmpi.so.12 needs libfabric.so.1",
		"abi: openmpi, inject: {from: /opt/mpi, search: [/opt/empty]}":   "has the binary interface of mpich",
		"inject: {from: /opt/mpi, search: [/opt/other, /opt/missing/*]}": "name its directory in mpi.inject.search",
	} {
		_, err := Resolve(parse(t, "mpi: {"+body+"}\n"), host(whole))
		if err == nil || !strings.HasPrefix(err.Error(), "site.yaml:4: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
