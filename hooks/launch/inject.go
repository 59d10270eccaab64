package launch

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"

	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/sharedlib"
	"mpiimport.org/hooks/internal/process/fitting"
	"mpiimport.org/hooks/profile"
)

// Injection is the host's MPI that takes the place of the image's.
type Injection struct {
	From      string     `json:"from"`      // the directory that was taken
	NewestOf  []string   `json:"newest_of"` // all that the pattern fits, the newest last
	ABI       string     `json:"abi"`
	Libraries []Injected `json:"libraries"` // the MPI library first
}

// Injected is one library of the host's.
type Injected struct {
	Name   string `json:"name"`   // by which it is found in the container
	Source string `json:"source"` // the file, links followed
	For    string `json:"for"`    // what needs it; empty for those of the directory itself
	// One of the host's system, which is used only where the image has none that will do.
	System    bool     `json:"system,omitempty"`
	Versions  []string `json:"versions,omitempty"` // of its symbols, which the others need
	CVersions []string `json:"c_versions"`         // of the C library's symbols, which it needs itself
}

// Target is where the container has the library. Each of the system's has a directory of its own, for it is searched or not.
func (l Injected) Target() string {
	if l.System {
		return path.Join(MPIPath, "system", l.Name, l.Name)
	}
	return path.Join(MPIPath, l.Name)
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
	for _, pattern := range wanted.Search {
		more, err := s.matches(pattern)
		if err != nil {
			return nil, err
		}
		// Where a pattern fits several, the newest is looked at first.
		slices.Reverse(more)
		s.searched = append(s.searched, more...)
	}
	if err := s.mpi(p.MPI.ABI); err != nil {
		return nil, err
	}
	if err := s.needs(); err != nil {
		return nil, err
	}
	for i, l := range s.found.Libraries {
		if l.System {
			s.found.Libraries[i].Versions = s.neededOf(l.Name)
		}
	}
	return &s.found, nil
}

// search is the way from the directory of an MPI to all that it needs.
type search struct {
	Request
	place    string // of the profile, for complaints
	searched []string
	found    Injection
	read     []sharedlib.Library // of each that was found
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
		if err := s.add(Injected{Name: path.Base(file), Source: file}); err != nil {
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
			if sharedlib.IsOfC(name) || s.has(name) {
				continue
			}
			file, system := s.file(name, library)
			if file == "" {
				return fmt.Errorf("%s: %s needs %s, which neither its own directories nor mpi.inject.search nor this host's /etc/ld.so.cache has; name its directory in mpi.inject.search",
					s.place, library.Path, name)
			}
			if err := s.add(Injected{Name: name, Source: file, For: s.found.Libraries[i].Name, System: system}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *search) has(name string) bool {
	return slices.ContainsFunc(s.found.Libraries, func(l Injected) bool { return l.Name == name })
}

// file finds a library for another one, and says whether it is one of the host's system; empty where there is none.
func (s *search) file(name string, user sharedlib.Library) (string, bool) {
	// What an MPI finds in the directories of the system is the system's, though it lies there itself.
	isLeft := func(directory string) bool {
		return slices.Contains(sharedlib.Directories, directory) && !slices.Contains(s.searched, directory)
	}
	places := slices.Concat([]string{s.found.From}, s.searched, user.Places)
	for _, directory := range slices.DeleteFunc(places, isLeft) {
		if file := path.Join(directory, name); s.Exists(file) {
			return file, false
		}
	}
	for _, file := range s.Loads(name) {
		// A cache lists those for other machines, too.
		if library, err := s.Inspect(file); err == nil && library.Machine == user.Machine {
			return file, true
		}
	}
	return "", false
}

func (s *search) add(l Injected) error {
	library, err := s.Inspect(l.Source)
	if err != nil {
		return fmt.Errorf("%s: %w; mpi.inject brings it: mend that, or name another directory", s.place, err)
	}
	if !bindable(library.Path) {
		return fmt.Errorf("%s: mpi.inject brings %q, and container runtimes cannot bind %s; rename it", s.place, library.Path, unbindable)
	}
	l.Source, l.CVersions = library.Path, sharedlib.WithoutImplied(library.Needs[sharedlib.CLibrary])
	s.read = append(s.read, library)
	s.found.Libraries = append(s.found.Libraries, l)
	return nil
}

// neededOf returns the versions of a library's symbols that the others need.
func (s *search) neededOf(name string) []string {
	out := []string{}
	for _, library := range s.read {
		out = append(out, library.Needs[name]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// changes are those of the environment that have programs in the container load what is injected. The entry binary
// looks there what of it the image needs.
func (i *Injection) changes(library string) []Variable {
	out := []Variable{}
	if library == "" {
		out = append(out, Variable{libraryVariable, i.Libraries[0].Target(), Set})
	}
	needs := []fitting.Need{}
	for _, l := range i.Libraries {
		need := fitting.Need{Source: l.Source, CVersions: l.CVersions, Versions: l.Versions}
		if l.System {
			need.Directory = path.Dir(l.Target())
		}
		needs = append(needs, need)
	}
	return append(out, Variable{ourvars.Inject, fitting.Write(needs), Set}, Variable{"LD_LIBRARY_PATH", MPIPath, Prepend})
}

func (i *Injection) mounts() []Mount {
	out := []Mount{}
	for _, l := range i.Libraries {
		out = append(out, Mount{Source: l.Source, Target: l.Target(), Options: "ro"})
	}
	return out
}
