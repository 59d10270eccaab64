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
	Profile       func(name string) (*profile.Profile, error)
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
	trusted := func(name string) (*profile.Profile, error) { return profile.LoadTrusted(name, installed) }
	return Host{Prefix: installed, UserNamespace: !isInitial(ids), Profile: trusted}, nil
}

// isInitial recognises the map of the initial user namespace: every id is itself.
func isInitial(ids []byte) bool {
	return bytes.Equal(bytes.Join(bytes.Fields(ids), []byte(" ")), []byte("0 0 4294967295"))
}

// Check returns the error with which the hook would refuse a container that names the profile.
func (h Host) Check(name string) error {
	c := &config{annotations: map[string]string{ProfileAnnotation: name}}
	_, err := c.plan(h, []string{"python"})
	return err
}
