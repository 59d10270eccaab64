package containerstart

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// shared returns what the environment holds for the starts of a job if it was made for such as this one, else
// resolves the profile. The second result says what is left out of that.
func (c Call) shared(w wish) (launch.Shared, []string, error) {
	if text, ok := environ.Get(c.Env, ourvars.Plan); ok {
		key := launch.Key{Prefix: c.Prefix, Profile: w.profile, UserNamespace: c.userNamespace()}
		if found, ok := launch.ReadShared(text, key); ok {
			if full, _ := c.adding(found.Plan.Options); full.userNamespace() == key.UserNamespace {
				return found, nil, nil
			}
		}
	}
	chosen, err := profile.Choose(w.profile, c.Prefix, c.Env)
	if err != nil {
		return launch.Shared{}, nil, err
	}
	shared, chosen, err := launch.ShareChosen(chosen, func(options []string) launch.Request {
		full, _ := c.adding(options)
		return full.request()
	})
	return shared, chosen.LeftOut, err
}

// adding returns the call with a profile's options; what the caller says of the same option wins. The second result
// says which option the runtime would not take.
func (c Call) adding(options []string) (Call, string) {
	merged := map[string]string{}
	for _, option := range options {
		name, value := SplitOption(option)
		if reason := c.refuses(option); reason != "" {
			return c, reason
		}
		merged[name] = value
	}
	maps.Copy(merged, c.Options)
	c.Options = merged
	return c, ""
}

// refuses returns why the runtime would not take an option of a profile; empty if it would.
func (c Call) refuses(option string) string {
	if c.Takes == nil {
		return ""
	}
	name, value := SplitOption(option)
	takes, known := c.Takes(name)
	_, err := strconv.ParseBool(value)
	switch {
	case !known:
		return fmt.Sprintf("the option --%s is not known here", name)
	case name == "help":
		return "with --help no container starts"
	case takes && !strings.Contains(option, "="):
		return fmt.Sprintf("the option --%s has no value; write --%s=VALUE", name, name)
	case !takes && err != nil:
		return fmt.Sprintf("the option --%s is on or off, and %q is neither true nor false", name, value)
	}
	return ""
}

// SplitOption reads an option of a profile, --name or --name=value; one that takes no value has the value true.
func SplitOption(option string) (name, value string) {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(option, "--"), "=")
	if !hasValue {
		value = "true"
	}
	return name, value
}

func (c Call) request() launch.Request {
	request := launch.Request{Prefix: c.Prefix, UserNamespace: c.userNamespace(), Environ: c.Env, OwnShm: c.hidesDevices()}.OnThisHost()
	// Only exec's command line is ours: what an image's scripts are, and who interprets them, the runtime knows.
	if c.Action == Exec {
		request.Command = c.Command
	}
	return request
}

func (c Call) userNamespace() bool {
	return !c.Root && (!c.Facts.Setuid || c.On("oci")) || c.On("userns") || c.On("fakeroot")
}

// environment keeps out of containers what is meant for processes out here: the job's plan, and the entry point through which
// pythons of the host activate.
func (c Call) environment() []string {
	return environ.DropPath(environ.Unset(c.Env, ourvars.Plan), "PYTHONPATH", prefix.SiteDirectory(c.Prefix))
}
