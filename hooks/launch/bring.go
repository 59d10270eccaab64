package launch

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mpiimport.org/hooks/profile"
)

// What a container gets of the host's files: mounts and devices.

// bindable says whether the runtimes can bind a path as it is.
func bindable(path string) bool {
	return utf8.ValidString(path) && !strings.ContainsAny(path, ":,\"'\\\n")
}

const unbindable = "a path that is not UTF-8 or has one of : , \" ' \\ in it"

func resolveMounts(p *profile.Profile, r Request) ([]Mount, error) {
	if !bindable(r.Prefix) {
		return nil, fmt.Errorf("mpiimport is installed in %q, and container runtimes cannot bind %s; install it elsewhere", r.Prefix, unbindable)
	}
	mounts := []Mount{{Source: r.Prefix, Target: Inside, Options: "ro"}}
	for _, wanted := range p.Mounts {
		place := fmt.Sprintf("%s:%d", wanted.File, wanted.Line)
		sources := []string{wanted.Source}
		if wanted.Target == "" {
			found, err := r.brought(place, wanted.Source)
			if err != nil {
				return nil, err
			}
			sources = found
		} else if !r.Exists(wanted.Source) {
			sources = nil
		}
		if len(sources) == 0 && !wanted.Optional {
			return nil, missing(place, "the mount source "+wanted.Source+" does not exist on this host; mend the path")
		}
		for _, source := range sources {
			m := Mount{Source: source, Target: wanted.Target, Options: wanted.Options}
			if m.Target == "" {
				m.Target = source
			}
			if own := ours(m.Target); own != "" {
				return nil, fmt.Errorf("%s: the mount target %s is, covers or lies in %s, where mpiimport mounts what it needs; choose another target",
					place, m.Target, own)
			}
			mounts = replaceTarget(mounts, m)
		}
	}
	return mounts, nil
}

// ours returns the place of mpiimport that a mount target has to do with, "" where there is none.
func ours(target string) string {
	below := func(place, top string) bool { return strings.HasPrefix(place+"/", strings.TrimSuffix(top, "/")+"/") }
	for _, own := range []string{Inside, StorePath, CachePath, MPIPath} {
		if target = path.Clean(target); below(target, own) || below(own, target) {
			return own
		}
	}
	return ""
}

func resolveDevices(p *profile.Profile, r Request) ([]string, error) {
	devices := []string{}
	for _, wanted := range p.Devices {
		place := fmt.Sprintf("%s:%d", wanted.File, wanted.Line)
		found, err := r.brought(place, wanted.Path)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(file string) bool { return !r.IsDevice(file) })
		if len(found) == 0 && !wanted.Optional {
			return nil, missing(place, "no device node of this host is called "+wanted.Path+"; mend the path (/dev/infiniband/* names all in a directory)")
		}
		for _, device := range found {
			if !slices.Contains(devices, device) {
				devices = append(devices, device)
			}
		}
	}
	return devices, nil
}

// glob returns the paths of the host that a pattern fits.
func (r Request) glob(place, pattern string) ([]string, error) {
	found, err := r.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: the pattern %s is not understood: %w; mend it", place, pattern, err)
	}
	return found, nil
}

// brought returns the same for what the container is to have under the same path.
func (r Request) brought(place, pattern string) ([]string, error) {
	found, err := r.glob(place, pattern)
	for _, file := range found {
		if !bindable(file) {
			return nil, fmt.Errorf("%s: %s fits %q, and container runtimes cannot bind %s; write a pattern that leaves it out", place, pattern, file, unbindable)
		}
	}
	return found, err
}

func missing(place, what string) error {
	return fmt.Errorf("%s: %s, or add `optional: true` if not every node has it", place, what)
}

// replaceTarget lets a profile override the mount of one that it extends.
func replaceTarget(mounts []Mount, m Mount) []Mount {
	for i, old := range mounts {
		if old.Target == m.Target {
			mounts[i] = m
			return mounts
		}
	}
	return append(mounts, m)
}
