package runtimes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"mpiimport.org/hooks/internal/publish"
)

type launchFile struct {
	Runtimes map[string]Runtime `yaml:"runtimes"`
}

// Read returns what was recorded at installation; nothing recorded is no error.
func Read(file string) (map[string]Runtime, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the recorded runtimes: %w; mend its permissions or run `mpiimport-plan record` again", err)
	}
	var recorded launchFile
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&recorded); err != nil && len(bytes.TrimSpace(content)) > 0 {
		return nil, fmt.Errorf("%s: %w; write it anew with `mpiimport-plan record`", file, err)
	}
	return recorded.Runtimes, nil
}

// Record finds every runtime on PATH, asks each what it is, and writes the file. It returns what it found.
func (f Finder) Record(file string) (map[string]Runtime, error) {
	found := map[string]Runtime{}
	for _, name := range Names {
		r, err := f.Search(name)
		if err != nil {
			continue
		}
		if r.Flavour == "" {
			r.Flavour = askFlavour(r.Path)
		}
		r.NoBinds = forbidsBinds(r.Path)
		found[name] = r
	}
	content, err := yaml.Marshal(launchFile{Runtimes: found})
	if err != nil {
		return nil, err
	}
	if err := publish.File(file, content); err != nil {
		return nil, fmt.Errorf("cannot record the runtimes: %w", err)
	}
	return found, nil
}

// forbidsBinds reads the runtime's configuration, which lies beside it or in /etc. Without binds the entry binary
// would be missing in the container and the job would not start.
func forbidsBinds(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for _, root := range []string{filepath.Join(filepath.Dir(filepath.Dir(resolved)), "etc"), "/etc"} {
		for _, name := range []string{"apptainer", "singularity"} {
			if content, err := os.ReadFile(filepath.Join(root, name, name+".conf")); err == nil {
				return regexp.MustCompile(`(?m)^[ \t]*user bind control[ \t]*=[ \t]*no\b`).Match(content)
			}
		}
	}
	return false
}

// askFlavour runs the executable; "" when its answer is not understood, which the launch copes with.
func askFlavour(path string) string {
	output, err := exec.Command(path, "--version").Output()
	if err != nil {
		return ""
	}
	switch first, _, _ := strings.Cut(strings.ToLower(string(output)), " "); {
	case first == "apptainer":
		return "apptainer"
	case strings.HasPrefix(first, "singularity"):
		return "singularityce"
	}
	return ""
}
