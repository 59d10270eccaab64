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

// What images that are files hold.
const squashfs = "squashfs"

// OfDirectory returns the kind of the file system that holds a directory, such as ext4 or nfs4. It is empty for other
// files, and where the kind cannot be told.
func OfDirectory(path, mountinfo string) string {
	// One question, however many links the path leads through.
	directory, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return ""
	}
	defer directory.Close()
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", directory.Fd()))
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(mountinfo)
	if err != nil {
		return ""
	}
	return holding(real, string(text))
}

// OfImage returns the kind of the file system that a container of the image reads: that of a directory, or the one that
// a file brings. Whatever holds the file, the node mounts it once and keeps what was read.
func OfImage(path, mountinfo string) string {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return squashfs
	}
	return OfDirectory(path, mountinfo)
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
