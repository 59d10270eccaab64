package publish

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhatIsPublishedIsReadableForAllWhateverTheUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	top := t.TempDir()
	file := filepath.Join(top, "a", "b", "file")
	for _, text := range []string{"first", "second"} {
		if err := File(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	for path, want := range map[string]os.FileMode{file: 0o644, filepath.Dir(file): 0o755, filepath.Join(top, "a"): 0o755} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("something is left beside the file: %v", entries)
	}
}

func TestADirectoryThatIsThereKeepsItsMode(t *testing.T) {
	top := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(top, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := File(filepath.Join(top, "file"), nil); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(top); info.Mode().Perm() != 0o700 {
		t.Error(info.Mode())
	}
}
