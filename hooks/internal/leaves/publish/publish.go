// Package publish writes files that everybody may read, and that somebody may be reading already.
package publish

import (
	"errors"
	"os"
	"path/filepath"
)

// File replaces a file as a whole. Its mode, and that of a directory made for it, do not depend on the writer's umask.
func File(file string, text []byte) error {
	if err := directory(filepath.Dir(file)); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = fresh.Write(text)
	err = errors.Join(err, fresh.Chmod(0o644), fresh.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), file)
	}
	if err != nil {
		os.Remove(fresh.Name())
	}
	return err
}

// directory makes what is missing of a path.
func directory(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := directory(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}
