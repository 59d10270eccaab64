package ocihook

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/launch"
)

// podman puts an init in front of the command and says so.
const initAnnotation = "io.podman.annotations.init"

// Unchanged is why a container starts as it would without us.
type Unchanged struct{ Reason string }

func (u Unchanged) Error() string { return u.Reason }

// Precreate returns the config.json with which the container is to be created. An error of type Unchanged comes with
// the text as it was; any other means that the container must not start.
func Precreate(text []byte, h Host) ([]byte, error) {
	c, err := parse(text)
	if err != nil {
		return text, Unchanged{err.Error()}
	}
	if !c.wanted() {
		return text, nil
	}
	before, command := c.command()
	if len(command) == 0 {
		return text, Unchanged{"config.json has no command"}
	}
	plan, err := c.plan(h, command)
	if errors.As(err, &Unchanged{}) {
		return text, err
	} else if err != nil {
		return nil, err
	}
	// A container's own word of it is none.
	c.env = environ.Unset(c.env, ourvars.Image)
	if kept, ok := c.imageCache(plan, h); ok {
		plan = plan.WithCache(kept)
	}
	if err := c.addDevices(plan.Devices); errors.As(err, &Unchanged{}) {
		return text, err
	} else if err != nil {
		return nil, err
	}
	c.edit(plan)
	c.start(before, plan.Entry, command)
	return c.format()
}

// wanted says whether the container asks for mpiimport and has not switched it off.
func (c *config) wanted() bool {
	_, named := c.annotations[ProfileAnnotation]
	mode, _ := environ.Get(c.env, ourvars.Mode)
	return named && mode != "0"
}

// plan resolves the profile that the container names. Of the container's environment only the options of the service
// count, which are handed back into it.
func (c *config) plan(h Host, command []string) (launch.Plan, error) {
	chosen, err := h.Profile(c.annotations[ProfileAnnotation])
	if err != nil {
		return launch.Plan{}, fmt.Errorf("the annotation %s: %w", ProfileAnnotation, err)
	}
	shm := launch.ShmPrivate
	if !c.has(specs.IPCNamespace) {
		shm = launch.ShmNoExec
	}
	return launch.Resolve(chosen, launch.Request{
		Prefix: h.Prefix, Command: command, UserNamespace: h.UserNamespace || c.has(specs.UserNamespace), Environ: c.env, Shm: shm,
	}.OnThisHost())
}

// command splits the container's command from the init in front of it.
func (c *config) command() ([]string, []string) {
	if strings.EqualFold(c.annotations[initAnnotation], "true") && len(c.args) > 1 && c.args[1] == "--" {
		return c.args[:2], c.args[2:]
	}
	return nil, c.args
}

// start says how the command starts. Its environment is known here to the last variable, so that what the entry binary
// would do in the container is done at once, unless that takes the command's process id, which is not known, or the clocks
// in there.
func (c *config) start(init, entryBinary, command []string) {
	_, reports := environ.Get(c.env, ourvars.Report)
	_, injects := environ.Get(c.env, ourvars.Inject)
	switch {
	case len(entryBinary) == 0:
		// It is there: the image's own, or by this hook, which has run before.
	case len(init) > 0, reports, injects, rankenv.IsRank(c.env) && !c.isFirst():
		// The command stays the container's first process, or the init's child.
		c.args = slices.Concat(init, entryBinary, []string{"--no-init"}, command)
	default:
		c.args, c.env = entry.Start(command, entry.Process{Prefix: launch.Inside, Pid: 1, Env: c.env})
	}
}

// edit carries the plan's mounts and environment out.
func (c *config) edit(plan launch.Plan) {
	for _, m := range plan.Mounts {
		c.mount(specs.Mount{Destination: m.Target, Type: "bind", Source: m.Source, Options: m.OCIOptions()})
	}
	for _, target := range plan.Memory {
		c.mount(specs.Mount{Destination: target, Type: "tmpfs", Source: "tmpfs", Options: launch.MemoryOptions()})
	}
	for _, v := range plan.Environment {
		c.env = v.In(c.env)
	}
}

// mount replaces what is mounted at the same place, or mounts ahead of the first that lies below.
func (c *config) mount(wanted specs.Mount) {
	place := path.Clean(wanted.Destination)
	if same := c.mountAt(place); same >= 0 {
		c.mounts[same] = mount{Mount: wanted}
		return
	}
	below := slices.IndexFunc(c.mounts, func(m mount) bool { return strings.HasPrefix(path.Clean(m.Destination), place+"/") })
	if below < 0 {
		below = len(c.mounts)
	}
	c.mounts = slices.Insert(c.mounts, below, mount{Mount: wanted})
}

// mountAt returns the position of the mount at a place, -1 if there is none.
func (c *config) mountAt(place string) int {
	return slices.IndexFunc(c.mounts, func(m mount) bool { return path.Clean(m.Destination) == place })
}
