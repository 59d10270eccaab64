package ocihook

import (
	"errors"
	"fmt"

	"mpiimport.org/hooks/internal/entrypoints/released"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/profile"
)

// Host is the machine that the hook runs on.
type Host struct {
	Prefix        string // where mpiimport is installed
	UserNamespace bool   // whether the hook itself runs in a user namespace, as under rootless podman
	Profile       func(name string) (*profile.Profile, error)
	MayCache      func(name string) bool // whether containers of a profile that is served may keep stores on this node
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
	trusted := func(name string) (*profile.Profile, error) { return servable(name, installed) }
	keeps := func(name string) bool {
		list, err := released.Read(installed)
		return err == nil && list.MayCache(name)
	}
	return Host{Prefix: installed, UserNamespace: root != 0, Profile: trusted, MayCache: keeps}, nil
}

// servable returns a profile that is released for the hook. Where it is not, the container starts as it would without us:
// whoever starts it need not have asked for anything.
func servable(name, installed string) (*profile.Profile, error) {
	list, err := released.Read(installed)
	if err == nil {
		err = list.Names(name)
	}
	if err != nil {
		return nil, Unchanged{err.Error()}
	}
	chosen, err := profile.LoadTrusted(name, installed)
	if err != nil {
		return nil, err
	}
	if err := list.Covers(chosen); err != nil {
		return nil, Unchanged{err.Error()}
	}
	if chosen, err = chosen.ForAll(); err != nil {
		return nil, Unchanged{err.Error()}
	}
	return chosen, nil
}

// Check returns why a container that names the profile would not start, or would start without it.
func (h Host) Check(name string) error {
	c := &config{annotations: map[string]string{ProfileAnnotation: name}}
	if _, err := c.plan(h, []string{"python"}); err != nil {
		return errors.New(err.Error())
	}
	return nil
}
