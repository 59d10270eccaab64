package ocihook

import (
	"fmt"

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
	root, err := profile.RootOwner()
	if err != nil {
		return Host{}, fmt.Errorf("cannot tell whether this is a user namespace: %w", err)
	}
	trusted := func(name string) (*profile.Profile, error) { return profile.LoadTrusted(name, installed) }
	return Host{Prefix: installed, UserNamespace: root != 0, Profile: trusted}, nil
}

// Check returns the error with which the hook would refuse a container that names the profile.
func (h Host) Check(name string) error {
	c := &config{annotations: map[string]string{ProfileAnnotation: name}}
	_, err := c.plan(h, []string{"python"})
	return err
}
