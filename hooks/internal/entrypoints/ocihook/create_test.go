package ocihook

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPlacesAreMadeInsideTheContainer(t *testing.T) {
	for name, c := range map[string]struct {
		link, to string // in the container
		target   string
		isFile   bool
		made     string
	}{
		"a directory":                {target: "/opt/mpiimport", made: "opt/mpiimport"},
		"a file":                     {target: "/etc/deep/file", isFile: true, made: "etc/deep/file"},
		"the root":                   {target: "/", made: "."},
		"a target that climbs":       {target: "/../../outside/x", made: "outside/x"},
		"an absolute link":           {link: "opt", to: "/there", target: "/opt/mpiimport", made: "there/mpiimport"},
		"a link that climbs":         {link: "opt", to: "../../../there", target: "/opt/mpiimport", made: "there/mpiimport"},
		"a link to the host's files": {link: "opt", to: "OUTSIDE", target: "/opt/mpiimport"},
	} {
		base := t.TempDir()
		root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
		for _, directory := range []string{filepath.Join(root, "there"), outside} {
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if c.to == "OUTSIDE" {
			c.to = outside
		}
		if c.link != "" {
			if err := os.Symlink(c.to, filepath.Join(root, c.link)); err != nil {
				t.Fatal(err)
			}
		}
		rootfs, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = makeInside(rootfs, c.target, c.isFile)
		if (err == nil) != (c.made != "") {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(filepath.Join(root, c.made)); err != nil || info.IsDir() == c.isFile {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if entries, _ := os.ReadDir(outside); len(entries) > 0 {
			t.Errorf("%s: made %s on the host", name, entries[0].Name())
		}
	}
}

func TestAStateThatIsNotUnderstoodChangesNothing(t *testing.T) {
	bundle := t.TempDir()
	state := func(version, bundle string) string {
		text, _ := json.Marshal(map[string]string{"ociVersion": version, "bundle": bundle})
		return string(text)
	}
	for name, c := range map[string]struct{ state, config string }{
		"no state":          {state: ""},
		"a newer version":   {state: state("2.0.0", bundle)},
		"a relative bundle": {state: state("1.0.2", "bundle")},
		"no bundle":         {state: state("1.0.2", filepath.Join(bundle, "none"))},
		"no configuration":  {state: state("1.0.2", bundle), config: "{"},
	} {
		if err := os.WriteFile(filepath.Join(bundle, "config.json"), []byte(c.config), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := CreateContainer([]byte(c.state), host(site)); !errors.As(err, &Unchanged{}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
