package ocihook

import (
	"bytes"
	"fmt"
	"os"

	"mpiimport.org/hooks/internal/prefix"
	"mpiimport.org/hooks/profile"
)

// Host is the machine that the hook runs on.
type Host struct {
	Prefix        string // where mpiimport is installed
	UserNamespace bool   // whether the hook itself runs in a user namespace, as under rootless podman
}

// ThisHost looks at the machine.
func ThisHost() (Host, error) {
	installed, err := prefix.Of()
	if err != nil {
		return Host{}, err
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return Host{}, fmt.Errorf("cannot tell whether this is a user namespace: %w; is /proc mounted?", err)
	}
	return Host{Prefix: installed, UserNamespace: !isInitial(ids)}, nil
}

// isInitial recognises the map of the initial user namespace: every id is itself.
func isInitial(ids []byte) bool {
	return bytes.Equal(bytes.Join(bytes.Fields(ids), []byte(" ")), []byte("0 0 4294967295"))
}

// profile returns the profile that a container names.
func (h Host) profile(name string) (*profile.Profile, error) {
	chosen, err := profile.LoadTrusted(name, h.Prefix)
	if err != nil {
		return nil, fmt.Errorf("the annotation %s: %w", ProfileAnnotation, err)
	}
	return chosen, nil
}
