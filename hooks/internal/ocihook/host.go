package ocihook

import (
	"bytes"
	"fmt"
	"os"
	"regexp"

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

var name = regexp.MustCompile(`^[a-z0-9-]+$`)

// profile returns the profile that a container names. Only a name counts, never a path, and only what an
// administrator has put where the container's owner cannot write: nothing below a home, nothing that flags or
// variables name.
func (h Host) profile(wanted string) (*profile.Profile, error) {
	if !name.MatchString(wanted) {
		return nil, fmt.Errorf("the annotation %s is %q, which is no profile's name; write lower case letters, digits and hyphens (%s where no profile is needed)",
			ProfileAnnotation, wanted, profile.DefaultName)
	}
	return profile.Load(wanted, []string{prefix.Profiles(h.Prefix), "/etc/mpiimport/profiles.d"})
}
