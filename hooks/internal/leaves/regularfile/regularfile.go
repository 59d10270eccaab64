// Package regularfile is the one way to open a file that is not the kernel's own (/proc, /sys): of what is no regular file, a pipe or
// a device say, nothing is read or waited for.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Largest is the most bytes that a file may have which is read as a whole: settings, lists and states are far smaller.
const Largest = 64 << 20

var errNone = errors.New("it is no regular file")

// Open opens a file to read it. Without O_NONBLOCK a pipe would be waited for.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNone}
	}
	return file, nil
}

// Read returns what a file holds, if that is not more than Largest.
func Read(path string) ([]byte, error) { return ReadUpTo(path, Largest) }

// ReadUpTo returns what a file holds, if that is not more than so many bytes.
func ReadUpTo(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	return content, err
}
