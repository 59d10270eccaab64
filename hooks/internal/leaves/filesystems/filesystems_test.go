package filesystems

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const mounts = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /shared rw,relatime shared:2 - nfs4 server:/export rw,vers=4.2
24 23 0:22 / /shared/with\040space rw - lustre mds:/fs rw
25 22 0:23 / /sharedness rw - tmpfs none rw
26 22 0:24 / /covered rw - nfs4 server:/old rw
27 26 0:25 / /covered rw - xfs /dev/vdb rw
a line that is none
`

func TestTheLongestMountHoldsAPath(t *testing.T) {
	for path, want := range map[string]string{
		"/images/py": "ext4", "/shared": "nfs4", "/shared/py": "nfs4", "/shared/with space/py": "lustre",
		"/sharedness/py": "tmpfs", "/covered/py": "xfs",
	} {
		if got := holding(path, mounts); got != want {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
}

func TestAnImageIsToldFromWhatTakesItsPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "img.sif")
	seen := map[string]bool{}
	for _, content := range []string{"one", "two", "longer"} {
		// Another file may get the inode of one that was removed.
		if err := os.WriteFile(file+content, []byte(content), 0o644); err != nil || os.Rename(file+content, file) != nil {
			t.Fatal(err)
		}
		seen[Identity(file, Mountinfo)] = true
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	seen[Identity(file, Mountinfo)] = true
	if len(seen) != 4 || seen[""] {
		t.Errorf("%v", seen)
	}
	if Identity("docker://python", Mountinfo) != "" || Identity("/dev/null", Mountinfo) != "" {
		t.Error("no image on this machine has an identity")
	}
}

func TestAnUnpackedImageIsToldFromWhatTakesItsPlace(t *testing.T) {
	image := filepath.Join(t.TempDir(), "img")
	seen := map[string]bool{}
	for range 3 {
		// Another directory may get the inode of one that was removed. Times of a file have the grain of the kernel's clock.
		time.Sleep(20 * time.Millisecond)
		if err := os.RemoveAll(image); err != nil || os.Mkdir(image, 0o755) != nil {
			t.Fatal(err)
		}
		identity := Identity(image, Mountinfo)
		if identity != Identity(image, Mountinfo) {
			t.Error("another each time")
		}
		seen[identity] = true
	}
	if len(seen) != 3 || seen[""] {
		t.Errorf("%v", seen)
	}
}

func TestOnlyDirectoriesHaveAKind(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "img.sif")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if OfDirectory(directory, Mountinfo) == "" {
		t.Error("a directory has none")
	}
	for _, path := range []string{file, filepath.Join(directory, "nothing"), "docker://python", ""} {
		if kind := OfDirectory(path, Mountinfo); kind != "" {
			t.Errorf("%q: %s", path, kind)
		}
	}
	if OfDirectory(directory, file+"/nothing") != "" {
		t.Error("of mounts that cannot be read")
	}
}
