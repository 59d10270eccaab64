package containerstart

import "strings"

// Facts are what is known of a runtime and of its configuration. Each is false where nothing is known.
type Facts struct {
	Flavour     string `yaml:"flavour"`                 // apptainer, singularityce, or empty where it is not known
	Setuid      bool   `yaml:"setuid,omitempty"`        // containers of ordinary users need no user namespace
	NoBinds     bool   `yaml:"no_binds,omitempty"`      // users may bind nothing
	NoNewPlaces bool   `yaml:"no_new_places,omitempty"` // nothing can be mounted where the image has no directory
	OwnDev      bool   `yaml:"own_dev,omitempty"`       // containers have a /dev of their own
	NoHome      bool   `yaml:"no_home,omitempty"`       // containers do not see the user's home
}

// Directives reads a configuration file of the runtimes.
func Directives(text string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if directive, value, ok := strings.Cut(line, "="); ok {
			out[strings.TrimSpace(directive)] = strings.TrimSpace(value)
		}
	}
	return out
}

// Configured returns the facts under a configuration.
func (f Facts) Configured(directives map[string]string) Facts {
	off := func(directive string) bool { return directives[directive] == "no" || directives[directive] == "false" }
	f.Setuid = f.Setuid && !off("allow setuid")
	f.NoBinds = off("user bind control")
	f.NoNewPlaces = off("enable overlay") && off("enable underlay")
	f.OwnDev = directives["mount dev"] == "minimal"
	f.NoHome = off("mount home")
	return f
}

// forbids returns why nothing can be added to a container; empty if it can.
func (f Facts) forbids() string {
	switch {
	case f.NoBinds:
		return "the runtime's configuration has `user bind control = no`; only the site can change that, then run `mpiimport-plan record`"
	case f.NoNewPlaces:
		return "the runtime's configuration has `enable overlay = no` and `enable underlay = no`; the site can allow one of them, then run `mpiimport-plan record`"
	}
	return ""
}

// hidesDevices says whether the container has a /dev of its own. Elsewhere it sees the host's, and to bind a device there
// would only close it.
func (c Call) hidesDevices() bool {
	return c.Facts.OwnDev || c.On("contain") || c.On("containall") || c.On("compat") || c.On("oci")
}

// hidesHome says whether the container may not see the user's home.
func (c Call) hidesHome() bool {
	return c.Facts.NoHome || c.On("contain") || c.On("containall") || c.On("compat") || c.On("no-home") || c.On("oci") ||
		c.Has("home") || c.Has("no-mount")
}
