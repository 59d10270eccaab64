package sharedlib

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownLibc is this machine's C library.
func ownLibc(t *testing.T) Library {
	t.Helper()
	for _, file := range NewLoader().Find(CLibrary) {
		if library, err := Read(file); err == nil && library.IsForThisMachine() {
			return library
		}
	}
	t.Skip("this machine has no C library of GNU")
	return Library{}
}

func TestTheCLibrarySaysItsVersions(t *testing.T) {
	libc := ownLibc(t)
	if libc.Soname != CLibrary || !slices.Contains(libc.Has, "GLIBC_2.17") || Newest(libc.Has) == "none" {
		t.Errorf("%+v", libc)
	}
	if needs := libc.Needs[libc.Needed[0]]; len(needs) == 0 {
		t.Errorf("nothing is needed of %s", libc.Needed[0])
	}
}

func TestADamagedLibraryIsAnErrorOrSaysLess(t *testing.T) {
	whole, err := os.ReadFile(ownLibc(t).Path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	file := filepath.Join(t.TempDir(), "libc.so.6")
	for range 300 {
		// Tables and their headers lie at both ends.
		damaged := slices.Clone(whole[:min(len(whole), 200_000)])
		if random.IntN(2) == 0 {
			damaged = slices.Clone(whole)
		}
		for range 1 + random.IntN(20) {
			at := random.IntN(min(len(damaged), 160_000))
			damaged[at] = byte(random.IntN(256))
		}
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = Read(file)
	}
}

func TestATableThatLeadsInCirclesEnds(t *testing.T) {
	visits := 0
	table{data: make([]byte, 160)}.walk(func(uint32) uint32 { visits++; return 1 })
	if visits != 10 {
		t.Errorf("%d visits", visits)
	}
}

func TestACacheOfAnyContentIsRead(t *testing.T) {
	content, err := os.ReadFile(cacheFile)
	if err != nil {
		t.Skip(err)
	}
	if files := parseCache(content)[CLibrary]; len(files) == 0 {
		t.Error("the C library is not in the cache")
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		damaged := slices.Clone(content[:random.IntN(len(content))])
		for range 10 {
			if len(damaged) > 0 {
				damaged[random.IntN(min(len(damaged), 2000))] = byte(random.IntN(256))
			}
		}
		parseCache(damaged)
	}
}

func TestRunPathsAreTheirDirectories(t *testing.T) {
	got := places([]string{"$ORIGIN:${ORIGIN}/../x:/opt/a/:relative:$LIB/x:"}, "/opt/mpi/lib")
	if want := []string{"/opt/mpi/lib", "/opt/mpi/x", "/opt/a"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

func TestVersionsAreOrderedAsPeopleDo(t *testing.T) {
	want := []string{
		"/pe/default/lib", "/pe/8.1/lib", "/pe/8.1.9/lib", "/pe/8.1.29/gnu/9.1", "/pe/8.1.29/gnu/12.3", "/pe/8.1.30/gnu/9.1", "/pe/10/lib",
	}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, ByVersion)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	versions := []string{"GLIBC_2.9", "GLIBC_PRIVATE", "GLIBC_2.34", "GLIBC_2.4", "GLIBC_ABI_DT_RELR"}
	if got := WithoutImplied(versions); !reflect.DeepEqual(got, []string{"GLIBC_PRIVATE", "GLIBC_2.34", "GLIBC_ABI_DT_RELR"}) {
		t.Errorf("%q", got)
	}
}

// The commands for people know the same names.
func TestFamiliesAreThoseOfTheHostCommands(t *testing.T) {
	text, err := os.ReadFile("../../../../mpiimport/host/abi/shared_libraries.py")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`"(lib[^"]+)": (MPICH|OPENMPI),`).FindAllStringSubmatch(string(text), -1)
	if len(rows) == 0 {
		t.Fatal("no table is found")
	}
	for _, row := range rows {
		if Family(row[1]) != strings.ToLower(row[2]) {
			t.Errorf("%s is of %q", row[1], Family(row[1]))
		}
	}
	for _, name := range []string{"libmpi.so", "libmpifort.so.12", "libmpi.so.12.1", "libmpi_abi.so.1", "libfabric.so.1", ""} {
		if Family(name) != "" {
			t.Errorf("%s is of %q", name, Family(name))
		}
	}
}

func TestWhatComesWithTheCLibraryIsKnown(t *testing.T) {
	for name, want := range map[string]bool{
		"libc.so.6": true, "ld-linux-x86-64.so.2": true, "libpthread.so.0": true, "libstdc++.so.6": false,
		"libfabric.so.1": false, "libgfortran.so.5": false, "libcxi.so.1": false, "libm": false,
	} {
		if IsOfC(name) != want {
			t.Error(name)
		}
	}
}
