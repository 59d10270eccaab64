package ocihook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// addDevices has the runtime make device nodes of the host in the container, and lets its programs open them. What the
// container has already at such a place stays.
func (c *config) addDevices(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	var linux, resources map[string]json.RawMessage
	var nodes, rules []json.RawMessage
	err := errors.Join(member(c.whole, "linux", &linux), member(linux, "devices", &nodes), member(linux, "resources", &resources))
	if err = errors.Join(err, member(resources, "devices", &rules)); err != nil {
		return Unchanged{fmt.Sprintf("config.json is not understood: linux: %v", err)}
	}
	there := len(nodes)
	for _, device := range paths {
		if c.mountAt(device) >= 0 || slices.ContainsFunc(nodes, func(node json.RawMessage) bool { return isAt(node, device) }) {
			continue
		}
		node, rule, err := describe(device)
		if err != nil {
			return err
		}
		text, err := marshal(node)
		if err != nil {
			return err
		}
		nodes = append(nodes, text)
		if text, err = marshal(rule); err != nil {
			return err
		}
		rules = append(rules, text)
	}
	if len(nodes) == there {
		return nil
	}
	if resources, err = containing(resources, "devices", rules); err != nil {
		return err
	}
	if linux, err = containing(linux, "devices", nodes); err != nil {
		return err
	}
	if linux, err = containing(linux, "resources", resources); err != nil {
		return err
	}
	c.whole, err = containing(c.whole, "linux", linux)
	return err
}

// containing returns an object, which may be null, with a member that has this value.
func containing(object map[string]json.RawMessage, name string, value any) (map[string]json.RawMessage, error) {
	text, err := marshal(value)
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	object[name] = text
	return object, err
}

func isAt(node json.RawMessage, place string) bool {
	there := specs.LinuxDevice{}
	return json.Unmarshal(node, &there) == nil && path.Clean(there.Path) == path.Clean(place)
}

// describe says of a device of the host how to make it anew, and that it may be used.
func describe(device string) (specs.LinuxDevice, specs.LinuxDeviceCgroup, error) {
	status := unix.Stat_t{}
	if err := unix.Stat(device, &status); err != nil {
		return specs.LinuxDevice{}, specs.LinuxDeviceCgroup{}, fmt.Errorf("cannot look at the device %s: %w", device, err)
	}
	kind := "c"
	if status.Mode&unix.S_IFMT == unix.S_IFBLK {
		kind = "b"
	}
	major, minor := int64(unix.Major(status.Rdev)), int64(unix.Minor(status.Rdev))
	permissions := fs.FileMode(status.Mode & 0o777)
	node := specs.LinuxDevice{Path: device, Type: kind, Major: major, Minor: minor, FileMode: &permissions, UID: &status.Uid, GID: &status.Gid}
	return node, specs.LinuxDeviceCgroup{Allow: true, Type: kind, Major: &major, Minor: &minor, Access: "rw"}, nil
}
