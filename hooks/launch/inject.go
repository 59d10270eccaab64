package launch

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/internal/sharedlib"
	"mpiimport.org/hooks/profile"
)

// Injection is the host's MPI that takes the place of the image's.
type Injection struct {
	From      string     `json:"from"`      // the directory that was taken
	NewestOf  []string   `json:"newest_of"` // all that the pattern fits, the newest last
	ABI       string     `json:"abi"`
	Libraries []Injected `json:"libraries"` // the MPI library first
	// What of the image's C library is needed, and which library needs the newest of it.
	CVersions []string `json:"c_versions"`
	NeededBy  string   `json:"needed_by"`
}

// Injected is one library of the host's.
type Injected struct {
	Name   string `json:"name"`   // by which it is found in the container
	Source string `json:"source"` // the file, links followed
	For    string `json:"for"`    // what needs it; empty for those of the directory itself
}

// libraryFile fits the files that programs are linked to, and no others of the same library.
var libraryFile = regexp.MustCompile(`\.so\.[0-9]+$`)

// resolveInjection finds the host's MPI and all that it needs of the host. Nil where the profile asks for none.
func resolveInjection(p *profile.Profile, r Request) (*Injection, error) {
	wanted := p.MPI.Inject
	if wanted.From == "" {
		return nil, nil
	}
	s := search{Request: r, place: p.PlaceOf("mpi.inject.from")}
	matches, err := s.matches(wanted.From)
	if err != nil {
		return nil, err
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("%s: no directory of this host is called %s, from which mpi.inject takes the MPI; mend the path", s.place, wanted.From)
	}
	s.found = Injection{From: matches[len(matches)-1], NewestOf: matches}
	s.directories = []string{s.found.From}
	for _, pattern := range wanted.Search {
		more, err := s.matches(pattern)
		if err != nil {
			return nil, err
		}
		// Where a pattern fits several, the newest is looked at first.
		slices.Reverse(more)
		s.directories = append(s.directories, more...)
	}
	if err := s.mpi(p.MPI.ABI); err != nil {
		return nil, err
	}
	if err := s.needs(); err != nil {
		return nil, err
	}
	s.found.CVersions = sharedlib.WithoutImplied(s.found.CVersions)
	return &s.found, nil
}

// search is the way from the directory of an MPI to all that it needs.
type search struct {
	Request
	place       string // of the profile, for complaints
	directories []string
	found       Injection
	read        []sharedlib.Library // of each that was found
}

// matches returns what a pattern fits, in the order of versions.
func (s *search) matches(pattern string) ([]string, error) {
	found, err := s.glob(s.place, pattern)
	slices.SortFunc(found, sharedlib.ByVersion)
	return found, err
}

// mpi takes the MPI libraries of the directory: the one of C, and those of other languages beside it.
func (s *search) mpi(abi string) error {
	files, err := s.glob(s.place, path.Join(s.found.From, "libmpi*.so.*"))
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(file string) bool { return !libraryFile.MatchString(file) })
	isMain := func(file string) bool { return sharedlib.Family(path.Base(file)) != "" }
	// libmpi.so.N itself is shorter than what else is called so.
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	main := slices.IndexFunc(files, isMain)
	if main < 0 {
		return fmt.Errorf("%s: %s has no MPI library (libmpi.so.12 or libmpi.so.40); name the directory that has it in mpi.inject.from", s.place, s.found.From)
	}
	files = slices.Insert(slices.Delete(slices.Clone(files), main, main+1), 0, files[main])
	for _, file := range files {
		if err := s.add(path.Base(file), file, ""); err != nil {
			return err
		}
	}
	return s.checkABI(files[0], abi)
}

// checkABI compares what the name of the library, the library itself and the profile say of its binary interface.
func (s *search) checkABI(file, wanted string) error {
	s.found.ABI = sharedlib.Family(path.Base(file))
	soname := s.read[0].Soname
	if said := sharedlib.Family(soname); said != s.found.ABI {
		return fmt.Errorf("%s: %s calls itself %q, so programs for %s cannot use it; name another directory in mpi.inject.from",
			s.place, file, soname, path.Base(file))
	}
	if wanted != "" && wanted != s.found.ABI {
		return fmt.Errorf("%s: %s has the binary interface of %s, and the profile says abi: %s; bring a library of %s, or say abi: %s",
			s.place, file, s.found.ABI, wanted, wanted, s.found.ABI)
	}
	return nil
}

// needs adds what the libraries need of the host, and what those need in their turn.
func (s *search) needs() error {
	for i := 0; i < len(s.read); i++ {
		library := s.read[i]
		for _, name := range library.Needed {
			if sharedlib.IsOfImage(name) || s.has(name) {
				continue
			}
			file := s.file(name, library)
			if file == "" {
				return fmt.Errorf("%s: %s needs %s, which neither its own directories nor mpi.inject.search nor this host's /etc/ld.so.cache has; name its directory in mpi.inject.search",
					s.place, library.Path, name)
			}
			if err := s.add(name, file, s.found.Libraries[i].Name); err != nil {
				return err
			}
		}
		s.needsOfC(library)
	}
	return nil
}

func (s *search) has(name string) bool {
	return slices.ContainsFunc(s.found.Libraries, func(l Injected) bool { return l.Name == name })
}

// file finds a library for another one; empty where there is none.
func (s *search) file(name string, user sharedlib.Library) string {
	for _, directory := range slices.Concat(s.directories, user.Places) {
		if file := path.Join(directory, name); s.Exists(file) {
			return file
		}
	}
	for _, file := range s.Loads(name) {
		// A cache lists those for other machines, too.
		if library, err := s.Inspect(file); err == nil && library.Machine == user.Machine {
			return file
		}
	}
	return ""
}

func (s *search) add(name, file, neededBy string) error {
	library, err := s.Inspect(file)
	if err != nil {
		return fmt.Errorf("%s: %w; mpi.inject brings it: mend that, or name another directory", s.place, err)
	}
	if strings.ContainsAny(library.Path, unbindable) {
		return fmt.Errorf("%s: container runtimes cannot bind %s, which has one of : , \" ' \\ in it; rename it", s.place, library.Path)
	}
	s.read = append(s.read, library)
	s.found.Libraries = append(s.found.Libraries, Injected{name, library.Path, neededBy})
	return nil
}

// needsOfC notes which versions of the C library's symbols have to be in the image.
func (s *search) needsOfC(library sharedlib.Library) {
	wanted := library.Needs[sharedlib.CLibrary]
	all := slices.Concat(s.found.CVersions, wanted)
	slices.SortFunc(all, sharedlib.ByVersion)
	if len(wanted) > 0 && slices.Contains(wanted, all[len(all)-1]) && !slices.Contains(s.found.CVersions, all[len(all)-1]) {
		s.found.NeededBy = library.Path
	}
	s.found.CVersions = slices.Compact(all)
}

// changes are those of the environment that have programs in the container load what is injected. The entry binary
// looks there whether the image can.
func (i *Injection) changes(library string) []Variable {
	out := []Variable{}
	if library == "" {
		out = append(out, Variable{libraryVariable, path.Join(MPIPath, i.Libraries[0].Name), Set})
	}
	if len(i.CVersions) > 0 {
		out = append(out, Variable{handover.Glibc, strings.Join(i.CVersions, ":") + " " + i.NeededBy, Set})
	}
	return append(out, Variable{"LD_LIBRARY_PATH", MPIPath, Prepend})
}

func (i *Injection) mounts() []Mount {
	out := []Mount{}
	for _, l := range i.Libraries {
		out = append(out, Mount{Source: l.Source, Target: path.Join(MPIPath, l.Name), Options: "ro"})
	}
	return out
}
