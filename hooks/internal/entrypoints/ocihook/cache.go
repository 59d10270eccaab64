package ocihook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/entrypoints/imagecache"
	"mpiimport.org/hooks/internal/leaves/filesystems"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/launch"
)

// imageCache returns where the container keeps stores. It keeps none where the administrator has not released its profile for that,
// where its program is of another user than who starts it, and where the layers of its image cannot be told.
func (c *config) imageCache(plan launch.Plan, h Host) (launch.ImageCache, bool) {
	if !launch.Caches(plan.Environment) || h.MayCache == nil || !h.MayCache(c.annotations[ProfileAnnotation]) || !c.isCallers() {
		return launch.ImageCache{}, false
	}
	image := filesystems.Layers(c.root, filesystems.Mountinfo)
	born := birth(c.root)
	if image == "" || born == 0 {
		return launch.ImageCache{}, false
	}
	directory := imagecache.ForImage(image, slices.Concat(c.env, callers()))
	return launch.ImageCache{Directory: directory, Image: image, Born: born, Confined: c.confined()}, directory != ""
}

// confined returns a digest of what the container's program may do: the filter of system calls, capabilities, user.
func (c *config) confined() string {
	linux := map[string]json.RawMessage{}
	if member(c.whole, "linux", &linux) != nil {
		return ""
	}
	sum := sha256.New()
	for _, part := range []json.RawMessage{linux["seccomp"], c.process["capabilities"], c.process["noNewPrivileges"], c.process["apparmorProfile"], c.process["user"]} {
		fmt.Fprintf(sum, "%d %s\n", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// isCallers says whether the container's program is of the user who starts the container: podman lets the hook be this user, or
// root in a user namespace of this user's. An image or an option may name another one.
func (c *config) isCallers() bool {
	user := int64(c.user)
	if c.has(specs.UserNamespace) {
		user = -1
		for _, ids := range c.userIDs {
			if ids.ContainerID <= c.user && c.user-ids.ContainerID < ids.Size {
				user = int64(ids.HostID) + int64(c.user-ids.ContainerID)
			}
		}
	}
	return user == int64(os.Geteuid())
}

// callers returns the variables of the process that starts the hook, podman, which hands on none. They tell of a batch job, whose
// end has to find what is kept.
func callers() []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Split(string(text), "\x00"), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return ourvars.IsOption(name)
	})
}

// birth returns when the directory was made that takes what a container changes (ns); 0 where that is not known.
func birth(root string) int64 {
	status := unix.Statx_t{}
	err := unix.Statx(unix.AT_FDCWD, root, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &status)
	if err != nil || status.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return status.Btime.Sec*1e9 + int64(status.Btime.Nsec)
}
