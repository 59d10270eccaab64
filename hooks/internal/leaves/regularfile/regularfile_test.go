package regularfile

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestNothingIsWaitedForOrReadOfWhatIsNoRegularFile(t *testing.T) {
	directory := t.TempDir()
	for name, make := range map[string]func(string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"terminal":  func(path string) error { return os.Symlink("/dev/ptmx", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"nothing":   func(string) error { return nil },
	} {
		path := filepath.Join(directory, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		done := quickly(t, name)
		if _, err := Read(path); err == nil {
			t.Error(name, err)
		}
		done()
	}
}

func TestAFileIsReadUpToItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 5000} {
		want := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadUpTo(path, 5000); err != nil || !bytes.Equal(got, want) {
			t.Error(size, err)
		}
	}
	if _, err := ReadUpTo(path, 4999); err == nil {
		t.Error("it was read")
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("it was read")
	}
}

// quickly ends the test where something is waited for.
func quickly(t *testing.T, name string) func() bool {
	timer := time.AfterFunc(20*time.Second, func() { panic(t.Name() + ": waits for " + name) })
	return timer.Stop
}
