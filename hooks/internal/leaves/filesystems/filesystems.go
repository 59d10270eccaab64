// Package filesystems tells the kinds of file systems on which files lie.
package filesystems

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Mountinfo lists the mounts that this process sees: proc(5).
const Mountinfo = "/proc/self/mountinfo"

const (
	// What images that are files hold.
	squashfs = "squashfs"
	// O_PATH of open(2): the file system that holds a file is not asked to open it.
	openPath = 0x200000
)

// OfDirectory returns the kind of the file system that holds a directory, such as ext4 or nfs4. It is empty for other
// files, and where the kind cannot be told.
func OfDirectory(path, mountinfo string) string {
	directory, err := os.OpenFile(path, openPath|syscall.O_DIRECTORY, 0)
	if err != nil {
		return ""
	}
	defer directory.Close()
	return of(directory, mountinfo)
}

// OfImage returns the kind of the file system that a container of the image reads: that of a directory, or the one that
// a file brings. Whatever holds the file, the node mounts it once and keeps what was read.
func OfImage(path, mountinfo string) string {
	image, err := os.OpenFile(path, openPath, 0)
	if err != nil {
		return ""
	}
	defer image.Close()
	info, err := image.Stat()
	switch {
	case err != nil:
		return ""
	case info.Mode().IsRegular():
		return squashfs
	case info.IsDir():
		return of(image, mountinfo)
	}
	return ""
}

// IsFile says whether an image is a file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Identity tells an image from every other that may come into its place: by inode, size and times, which are the same on
// every node, and after the file system was mounted anew. It begins with file:, or with the type of the file system that
// holds the directory. It is empty for an image that is not on this machine.
func Identity(path, mountinfo string) string {
	var status syscall.Stat_t
	if syscall.Stat(path, &status) != nil {
		return ""
	}
	kind := "file"
	switch status.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		kind = OfDirectory(path, mountinfo)
	case syscall.S_IFREG:
	default:
		return ""
	}
	modified, changed := syscall.TimespecToNsec(status.Mtim), syscall.TimespecToNsec(status.Ctim)
	return fmt.Sprintf("%s:%d:%d:%d:%d", kind, status.Ino, status.Size, modified, changed)
}

// of returns the kind of the file system that holds what is open. Its path is asked for nothing more, however many links
// it leads through.
func of(open *os.File, mountinfo string) string {
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", open.Fd()))
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(mountinfo)
	if err != nil {
		return ""
	}
	return holding(real, string(text))
}

// holding returns the kind of the last and longest mount that a path lies below.
func holding(path, mounts string) string {
	best, kind := "", ""
	for _, line := range strings.Split(mounts, "\n") {
		place, rest, ok := strings.Cut(line, " - ")
		fields := strings.Fields(place)
		if !ok || len(fields) < 5 {
			continue
		}
		mount := unescape.Replace(fields[4])
		below := mount == "/" || path == mount || strings.HasPrefix(path, mount+"/")
		if below && len(mount) >= len(best) {
			best = mount
			kind, _, _ = strings.Cut(rest, " ")
		}
	}
	return kind
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
