package runtimes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/leaves/publish"
	"mpiimport.org/hooks/internal/leaves/regularfile"
	"mpiimport.org/hooks/internal/leaves/yamltext"
)

// Recorded has what is known of runtimes, by their paths as PATH leads to them.
type Recorded map[string]containerstart.Facts

type launchFile struct {
	Runtimes Recorded `yaml:"runtimes"`
}

// Read returns what was recorded; nothing recorded is no error. Keys of another version are passed over.
func Read(file string) (Recorded, error) {
	content, err := regularfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the recorded runtimes: %w; mend its permissions or run `mpiimport-plan record` again", err)
	}
	var recorded launchFile
	if err := yamltext.Decode(content, &recorded, false); err != nil {
		return nil, fmt.Errorf("%s: %s; write it anew with `mpiimport-plan record`", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	return recorded.Runtimes, nil
}

// Record finds the runtimes on PATH, asks each what it is, and writes that into the file, beside what is known of others
// that are still there. It returns what PATH has, by name.
func (f Finder) Record(file string) (map[string]Runtime, error) {
	// A file that cannot be read is what this mends.
	known, _ := Read(file)
	all, found := Recorded{}, map[string]Runtime{}
	for path, facts := range known {
		if f.isOther(path) {
			all[path] = facts
		}
	}
	for _, name := range Names {
		r, err := f.Search(name)
		if err != nil {
			continue
		}
		r.Facts = ask(r)
		found[name], all[r.Path] = r, r.Facts
	}
	content, err := yaml.Marshal(launchFile{Runtimes: all})
	if err != nil {
		return nil, err
	}
	if err := publish.File(file, content); err != nil {
		return nil, fmt.Errorf("cannot record the runtimes: %w", err)
	}
	return found, nil
}

// ask has the runtime itself say what it is and where its configuration lies. What it does not answer is not known.
func ask(r Runtime) containerstart.Facts {
	facts := containerstart.Facts{Flavour: r.Facts.Flavour}
	if facts.Flavour == "" {
		facts.Flavour = askFlavour(r.Path)
	}
	output, _ := exec.Command(r.Path, "buildcfg").Output()
	built := map[string]string{}
	for _, line := range strings.Split(string(output), "\n") {
		name, value, _ := strings.Cut(line, "=")
		built[strings.TrimPrefix(strings.TrimPrefix(name, "APPTAINER_"), "SINGULARITY_")] = value
	}
	for _, name := range []string{"apptainer", "singularity"} {
		facts.Setuid = facts.Setuid || isSetuid(filepath.Join(built["LIBEXECDIR"], name, "bin", "starter-suid"))
	}
	if content, err := regularfile.Read(built["CONF_FILE"]); err == nil {
		facts = facts.Configured(containerstart.Directives(string(content)))
	}
	return facts
}

// isSetuid says whether a program starts as root whoever calls it.
func isSetuid(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeSetuid != 0 && info.Sys().(*syscall.Stat_t).Uid == 0
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
