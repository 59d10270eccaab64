package fitting

import (
	"reflect"
	"strings"
	"testing"
)

func TestNeedsAreReadAsTheyWereWritten(t *testing.T) {
	needs := []Need{
		{Source: "/opt/a|b:c/libmpi.so.12", CVersions: []string{"GLIBC_2.34", "GLIBC_ABI_DT_RELR"}, Versions: []string{}},
		{Source: "/usr/lib64/libz.so.1.3", CVersions: []string{}, Directory: "/m/libz.so.1", Versions: []string{"ZLIB_1.2.9"}},
	}
	if got := read(Write(needs)); !reflect.DeepEqual(got, needs) {
		t.Errorf("%+v", got)
	}
	for _, damaged := range []string{"", "a", "a|b|c", ",,"} {
		if got := read(damaged); len(got) != 0 {
			t.Errorf("%q: %+v", damaged, got)
		}
	}
}

func TestAnImageIsRefusedOnlyForWhatItsCLibraryLacks(t *testing.T) {
	image := map[string][]string{"libc.so.6": {"GLIBC_2.17", "GLIBC_2.36"}, "libz.so.1": {"ZLIB_1.2.9"}}
	has := func(name string) ([]string, bool) { versions, ok := image[name]; return versions, ok }
	none := func(string) ([]string, bool) { return nil, false }
	mpi := func(version string) Need { return Need{Source: "/opt/mpi", CVersions: []string{version}} }
	system := func(name, version, c string) Need {
		return Need{Source: "/lib/" + name, Directory: "/m/" + name, Versions: []string{version}, CVersions: []string{c}}
	}
	for name, c := range map[string]struct {
		need    Need
		has     func(string) ([]string, bool)
		path    string
		refused string
	}{
		"what it has":             {mpi("GLIBC_2.17"), has, "/m", ""},
		"what it lacks":           {mpi("GLIBC_2.38"), has, "", "/opt/mpi of this host needs GLIBC_2.38 of libc.so.6, and the image's has at most GLIBC_2.36"},
		"a feature":               {mpi("GLIBC_ABI_DT_RELR"), has, "", "needs GLIBC_ABI_DT_RELR"},
		"its library is not seen": {mpi("GLIBC_2.38"), none, "/m", ""},
		"the image's will do":     {system("libz.so.1", "ZLIB_1.2.9", "GLIBC_2.38"), has, "/m", ""},
		"the image's is old":      {system("libz.so.1", "ZLIB_1.3", "GLIBC_2.17"), has, "/m/libz.so.1:/m", ""},
		"the image has none":      {system("libcxi.so.1", "CXI_1", "GLIBC_2.17"), has, "/m/libcxi.so.1:/m", ""},
		"and cannot load it":      {system("libcxi.so.1", "CXI_1", "GLIBC_2.38"), has, "", "/lib/libcxi.so.1 of this host needs GLIBC_2.38"},
	} {
		env, err := check([]string{"LD_LIBRARY_PATH=/m"}, []Need{c.need}, c.has)
		if c.refused == "" && (err != nil || !reflect.DeepEqual(env, []string{"LD_LIBRARY_PATH=" + c.path})) {
			t.Errorf("%s: %v, %q", name, err, env)
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
