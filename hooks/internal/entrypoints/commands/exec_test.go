package commands

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestImageFilesGoToTheShim(t *testing.T) {
	c := installed(t, map[string]string{"singularity": ""})
	image := filepath.Join(t.TempDir(), "img.sif")
	if err := os.WriteFile(image, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"--profile site --nv --bind /a " + image + " python app.py": "exec --mpiimport=site --nv --bind /a " + image + " python app.py",
		"docker://debian true": "exec --mpiimport docker://debian true",
	} {
		got, err := c.with(line).Exec()
		if err != nil || strings.Join(got.Args, " ") != c.Prefix+"/shim/singularity "+want {
			t.Errorf("%s: %q %v", line, got.Args, err)
		}
	}
}

func TestNamesOfImagesGoToTheRuntimeThatHasThem(t *testing.T) {
	const has = `[ "$2" = inspect ] && echo '[{"Id":"sha256:1","GraphDriver":{"Name":"vfs"},"Config":{"Env":["LD_LIBRARY_PATH=/image","PATH=/bin","D="]}}]'`
	c := installed(t, map[string]string{"podman": "exit 1", "docker": has})
	profile := "schema_version: 1\nname: site\ndescription: x\nenvironment: {append: {LD_LIBRARY_PATH: /site}, set: {A: b c}, default: {D: '1', E: '1'}, unset: [U]}\n"
	if err := os.WriteFile(filepath.Join(c.Prefix, "profiles", "site.yaml"), []byte(profile), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := c.with("--profile site --network=none py:1 python app.py").Exec()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--volume=" + c.Prefix + ":/.mpiimport:ro", "--env=LD_LIBRARY_PATH=/image:/site", "--env=A=b c", "--env=D=", "--env=E=1",
		"--env=_MPIIMPORT_UNSET=U", "--entrypoint=/.mpiimport/bin/mpiimport-entry", "--tmpfs=/.mpiimport-store:rw,nosuid,nodev,exec,mode=1777", "--env=MPIIMPORT_STORE=/.mpiimport-store"} {
		if !slices.Contains(got.Args, want) {
			t.Errorf("%s is missing in %q", want, got.Args)
		}
	}
	line := strings.Join(got.Args, " ")
	if !strings.HasPrefix(line, "docker run --rm --interactive ") || !strings.HasSuffix(line, " --network=none py:1 python app.py") {
		t.Error(line)
	}
	off, err := c.with("py:1 python", "MPIIMPORT=0").Exec()
	if line := strings.Join(off.Args, " "); err != nil || strings.Contains(line, "mpiimport") || !strings.HasSuffix(line, "--entrypoint= py:1 python") {
		t.Errorf("%s %v", line, err)
	}
	c.Root = false
	if user, _ := c.with("py:1 python").Exec(); !slices.ContainsFunc(user.Args, func(word string) bool { return strings.HasPrefix(word, "--user=") }) {
		t.Errorf("%q", user.Args)
	}
}

func TestMistakesOfExec(t *testing.T) {
	c := installed(t, map[string]string{"docker": "exit 1"})
	for line, want := range map[string]string{
		"":                       "no image given",
		"--nv":                   "no image given",
		"py:1":                   "no command given",
		"./none true":            "there is no image ./none",
		"none.sif true":          "there is no image none.sif",
		"--profile sit py true":  "did you mean site?",
		"docker://debian python": "neither apptainer nor singularity",
	} {
		if _, err := c.with(line).Exec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := c.with("py:1 python app.py", "PMI_RANK=0").Exec(); err == nil || !strings.Contains(err.Error(), "mpiimport exec py:1 mpiexec -n 4 python app.py") {
		t.Error(err)
	}
	if _, err := installed(t, nil).with("py:1 python").Exec(); err == nil || !strings.Contains(err.Error(), "neither podman nor docker") {
		t.Error(err)
	}
}
