package ocihook

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/leaves/regularfile"
	"mpiimport.org/hooks/launch"
)

// CreateContainer carries out the mounts of the plan for the container whose state is given. It runs in the
// container's mount namespace before the runtime changes to the container's root; environment and command are
// beyond its reach. All mounts are prepared before the first is seen.
func CreateContainer(state []byte, h Host) error {
	c, root, err := described(state)
	if err != nil {
		return Unchanged{err.Error()}
	}
	if !c.wanted() || c.mountAt(launch.Inside) >= 0 {
		return nil
	}
	// What the environment says of the store is for the place that is mounted here.
	c.env = nil
	plan, err := c.plan(h, nil)
	if err != nil {
		return err
	}
	rootfs, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open the container's root %s: %w", root, err)
	}
	prepared, err := prepare(plan)
	if errors.Is(err, unix.ENOSYS) {
		return Unchanged{"this kernel cannot prepare mounts; Linux 5.12 can"}
	} else if err != nil {
		return err
	}
	for _, m := range prepared {
		if err := m.attach(rootfs); err != nil {
			return fmt.Errorf("cannot mount %s in the container: %w", m.target, err)
		}
	}
	return nil
}

// described reads the configuration of a container and finds its root. Both lie in the bundle, which is the
// runtime's and not the container's.
func described(text []byte) (*config, string, error) {
	state := specs.State{}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, "", fmt.Errorf("the container's state is not understood: %w", err)
	}
	if !known(state.Version) || !filepath.IsAbs(state.Bundle) {
		return nil, "", fmt.Errorf("the container's state has ociVersion %q and bundle %q; version 1 and an absolute path are understood",
			state.Version, state.Bundle)
	}
	content, err := regularfile.Read(filepath.Join(state.Bundle, "config.json"))
	if err != nil {
		return nil, "", err
	}
	c, err := parse(content)
	if err != nil {
		return nil, "", err
	}
	root := c.root
	if !filepath.IsAbs(root) {
		root = filepath.Join(state.Bundle, root)
	}
	return c, root, nil
}

// detached is a mount that nobody sees yet.
type detached struct {
	fd     int
	target string
	isFile bool
}

func prepare(plan launch.Plan) ([]detached, error) {
	out := []detached{}
	add := func(source, target string, attributes uint64) error {
		d, err := clone(source, target, attributes)
		out = append(out, d)
		return err
	}
	for _, m := range plan.Mounts {
		attributes := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
		if m.Options == "ro" {
			attributes |= unix.MOUNT_ATTR_RDONLY
		}
		if err := add(m.Source, m.Target, attributes); err != nil {
			return nil, err
		}
	}
	for _, device := range plan.Devices {
		if err := add(device, device, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return nil, err
		}
	}
	for _, target := range plan.Memory {
		fd, err := memory()
		if err != nil {
			return nil, fmt.Errorf("cannot mount memory for a store: %w", err)
		}
		out = append(out, detached{fd: fd, target: target})
	}
	return out, nil
}

// clone copies what is mounted at and below a place of the host.
func clone(source, target string, attributes uint64) (detached, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return detached{}, fmt.Errorf("cannot mount %s: %w", source, err)
	}
	private := unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &private); err != nil {
		return detached{}, fmt.Errorf("cannot set the attributes of the mount of %s: %w", source, err)
	}
	status := unix.Stat_t{}
	if err := unix.Fstat(fd, &status); err != nil {
		return detached{}, fmt.Errorf("cannot mount %s: %w", source, err)
	}
	return detached{fd, target, status.Mode&unix.S_IFMT != unix.S_IFDIR}, nil
}

func memory() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := errors.Join(unix.FsconfigSetString(fs, "mode", "1777"), unix.FsconfigCreate(fs)); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

func (m detached) attach(rootfs int) error {
	place, err := makeInside(rootfs, m.target, m.isFile)
	if err != nil {
		return err
	}
	return unix.MoveMount(m.fd, "", place, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// makeInside opens a place in the container and makes what is missing of it. Links of the image lead to what they
// name in the image, never out of it.
func makeInside(rootfs int, target string, isFile bool) (int, error) {
	target = "." + path.Clean("/"+target)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	place, err := unix.Openat2(rootfs, target, &how)
	if !errors.Is(err, unix.ENOENT) {
		return place, err
	}
	parent, err := makeInside(rootfs, path.Dir(target), false)
	if err != nil {
		return -1, err
	}
	if isFile {
		err = unix.Mknodat(parent, path.Base(target), unix.S_IFREG|0o644, 0)
	} else {
		err = unix.Mkdirat(parent, path.Base(target), 0o755)
	}
	if err != nil {
		return -1, err
	}
	return unix.Openat2(rootfs, target, &how)
}
