// Package containerstart decides what one start of a container becomes, for every entry point that stands in front of Apptainer or
// SingularityCE: the start as it was asked for, or one with mounts, environment and the entry binary.
package containerstart

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/filesystems"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/launch"
)

// Flag is the option that asks for acceleration, without its hyphens.
const Flag = "mpiimport"

// Usage is what the option's line in --help says.
const Usage = "import Python modules from what rank 0 reads once; the value names a site profile"

// The subcommands that start containers.
const (
	Exec          = "exec"
	Run           = "run"
	Shell         = "shell"
	Test          = "test"
	InstanceStart = "instance start"
	InstanceRun   = "instance run"
)

// Actions lists them.
var Actions = []string{Exec, Run, Shell, Test, InstanceStart, InstanceRun}

// Words returns options as every entry point writes them in Call.Words.
func Words(values map[string][]string) []string {
	out := []string{}
	for name, each := range values {
		out = append(out, name+"="+strings.Join(each, ","))
	}
	slices.Sort(out)
	return out
}

// CommandAt is how many words stand before the command: the image, and the name of an instance.
func CommandAt(action string) int {
	if action == InstanceStart || action == InstanceRun {
		return 2
	}
	return 1
}

// Call is one start as an entry point sees it.
type Call struct {
	Action  string            // one of Actions; any other starts no container
	Words   []string          // the options of the command line, without the flag, as the function Words writes them
	Image   string            // empty where the command line has none
	Command []string          // what follows the image, and an instance's name
	Asked   bool              // the flag is there
	Value   string            // the flag's value
	Options map[string]string // long name of each option that is set, by the command line or by a variable
	Verbose bool              // the runtime is to say more than usually
	Doubt   string            // why the command line is not fully understood; empty if it is
	Env     []string
	Prefix  string // where mpiimport is installed
	Facts   Facts  // of the runtime
	Root    bool   // whether root calls

	Takes func(option string) (takes, known bool) // whether the runtime's option of this name takes a value, and whether there is one
}

// Outcome is what has to change. Note says why acceleration that was asked for was not, or not fully, applied.
type Outcome struct {
	Options []string // --name or --name=value; what the caller says of the same option wins
	Binds   []string // as --bind takes them
	Command []string // what follows the image instead, and an instance's name
	Env     []string // the whole environment of the runtime
	PerNode bool     // the ranks of a node are to share one container
	LeftOut []string // lines that say what of the profile is not applied, and which it is, where the caller wants to know
	Note    string
}

// Decide returns what has to change. An error means that nothing may start.
func (c Call) Decide() (Outcome, error) {
	same := Outcome{Command: c.Command, Env: c.Env}
	w := c.wish()
	if w.odd != "" {
		same.Note = c.note(w.odd)
	}
	if !w.wanted {
		return same, nil
	}
	reason := c.unsuited()
	if reason == "" {
		reason = c.Facts.forbids()
	}
	if reason != "" {
		if reason != silently {
			same.Note = c.note(reason)
		}
		return same, nil
	}
	out, err := c.accelerate(w)
	if err != nil && !w.flagged && c.nested() {
		// The variables came from outside with the environment; what they name need not be visible in here.
		same.Note = c.note(err.Error())
		return same, nil
	}
	return out, err
}

func (c Call) accelerate(w wish) (Outcome, error) {
	shared, leftOut, err := c.shared(w)
	if err != nil {
		return Outcome{}, err
	}
	full, reason := c.adding(shared.Plan.Options)
	if reason == "" {
		reason = full.unsuited()
	}
	if reason != "" {
		reason += " (among container.options of the profile " + shared.Plan.Profile + ")"
		return Outcome{Command: c.Command, Env: c.Env, Note: c.note(reason)}, nil
	}
	if w.profile == "" {
		beside, lines := full.amongNamespaces(shared)
		shared, leftOut = beside, slices.Concat(leftOut, lines)
	}
	plan, err := shared.For(full.request())
	if err != nil {
		return Outcome{}, err
	}
	out := full.apply(plan)
	out.LeftOut = leftOut
	if c.isVerbose() && rankenv.SpeaksForJob(c.Env) {
		out.LeftOut = append(leftOut, "mpiimport: the profile is "+plan.Profile)
	}
	return out, nil
}

// silently marks a call that starts no container.
const silently = "-"

func (c Call) unsuited() string {
	switch {
	case c.Has("help"):
		return silently
	case c.Doubt != "":
		return c.Doubt
	case c.Image == "":
		return silently
	case c.Action == Exec && len(c.Command) == 0:
		return silently
	case c.Action == Exec && strings.HasPrefix(c.Command[0], "-"):
		return "the command begins with a hyphen"
	case strings.HasPrefix(c.Image, "instance://"):
		return "a running instance takes no new mounts; name the image itself"
	case c.On("writable"):
		return "with --writable nothing can be mounted where the image has no directory; use --writable-tmpfs"
	case c.isolating() != "":
		return "with --" + c.isolating() + " each rank has a PID namespace of its own, where ranks get the same numbers and an MPI takes one for another"
	case c.Has("dmtcp-launch"), c.Has("dmtcp-restart"):
		return "checkpointing owns the command line"
	case c.On("vm"), c.On("boot"):
		return "the command runs in another machine or under an init"
	}
	return ""
}

func (c Call) apply(plan launch.Plan) Outcome {
	runtime := c.runtime()
	command, plan := c.start(c.identifyingImage(c.placingImage(plan.BringingLibrary(c.Env, c.hidesHome()))), runtime)
	env, skipped := plan.ContainerEnvironment(c.environment(), runtime)
	out := Outcome{Options: plan.Options, Command: command, Env: env, PerNode: plan.PerNode}
	for _, m := range plan.Mounts {
		out.Binds = append(out.Binds, m.Bind())
	}
	if c.hidesDevices() {
		out.Binds = append(out.Binds, plan.Devices...)
	}
	if len(skipped) > 0 {
		out.Note = c.note(fmt.Sprintf("%s cannot be changed without shell evaluation; leave out --no-eval and --compat, or use exec",
			strings.Join(skipped, ", ")))
	}
	if c.Action == Run && rankenv.IsRank(c.Env) && c.hasInit() {
		out.Note = c.note("in a PID namespace the runtime does not become the run script, so no process can be named; use exec")
	}
	return out
}

// runtime is how the runtime will treat the environment.
func (c Call) runtime() launch.Runtime {
	compat := c.On("compat") || c.On("oci")
	return launch.Runtime{
		Flavour:  c.Facts.Flavour,
		CleanEnv: compat || c.On("cleanenv") || c.On("containall"),
		NoEval:   compat || c.On("no-eval"),
	}
}

// placingImage tells the container where its tree lies: what is below its overlay cannot be seen from inside, and only
// that tells whether one node reads what it holds itself.
func (c Call) placingImage(plan launch.Plan) launch.Plan {
	if c.Has("overlay") {
		return plan
	}
	kind := ""
	switch {
	case rankenv.IsOneNode(c.Env):
		kind = filesystems.OfDirectory(c.Image, filesystems.Mountinfo)
	case !rankenv.IsRank(c.Env):
		// Ranks that a launcher starts inside share the mounts of this one container.
		if kind = filesystems.OfImage(c.Image, filesystems.Mountinfo); kind != "" {
			kind += ourvars.ForAllRanks
		}
	case filesystems.IsFile(c.Image):
		kind = ourvars.ImageFile
	}
	if kind == "" {
		return plan
	}
	return plan.With(launch.Variable{Name: ourvars.ImageOn, Value: kind, Change: launch.Set})
}

// identifyingImage tells the container which image it is made of, where a store is kept: in it files of two images may
// look the same. What lies below layers of their own is not known. Image files that are bound belong to it. Behind the image
// stands what tells the mounts of two starts from each other.
func (c Call) identifyingImage(plan launch.Plan) launch.Plan {
	if !plan.AsksForImage() || c.Has("overlay") {
		return plan
	}
	identity := filesystems.Identity(c.Image, filesystems.Mountinfo)
	if identity == "" {
		return plan
	}
	return plan.With(launch.Variable{Name: ourvars.Image, Value: identity + c.boundImages() + " " + c.mounts(plan), Change: launch.Set})
}

// mounts returns a digest of all by which something may be mounted: the caller's options, the runtimes' own variables, and the plan.
func (c Call) mounts(plan launch.Plan) string {
	said := []string{}
	for _, word := range c.Words {
		if name, _, _ := strings.Cut(word, "="); !slices.Contains(optionsWithoutMount, name) {
			said = append(said, word)
		}
	}
	for _, m := range plan.Mounts {
		// Where nothing of an image lies.
		if !strings.HasPrefix(m.Target, launch.Inside) {
			said = append(said, m.Target)
		}
	}
	for _, entry := range c.Env {
		name, _, _ := strings.Cut(entry, "=")
		if name == "HOME" || mayMount(name) && name != ourvars.Depth {
			said = append(said, entry)
		}
	}
	slices.Sort(said)
	sum := sha256.Sum256([]byte(strings.Join(said, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// Options, and variables of the runtimes behind their prefix, by which nothing is mounted. Their values are often those of one job:
// directories for the runtime's own files, the address of rank 0.
var (
	optionsWithoutMount   = []string{"cwd", "env", "env-file", "pwd"}
	variablesWithoutMount = []string{
		"CACHEDIR", "CONFIGDIR", "TMPDIR", "ENV_FILE", "DEBUG", "MESSAGELEVEL", "NOCOLOR", "QUIET", "SILENT", "VERBOSE",
	}
)

// mayMount says whether a variable of the runtimes may stand for a mount.
func mayMount(variable string) bool {
	name, ok := OfRuntimes(variable)
	return ok && !slices.Contains(variablesWithoutMount, name)
}

// OfRuntimes returns what stands behind the prefix in the name of a variable of the runtimes, and whether it is one.
func OfRuntimes(variable string) (string, bool) {
	for _, prefix := range []string{"APPTAINER_", "SINGULARITY_"} {
		if name, ok := strings.CutPrefix(variable, prefix); ok {
			return name, true
		}
	}
	return "", false
}

// hasInit says whether the runtime stays in the container as an init and starts the command as its child.
func (c Call) hasInit() bool {
	if c.On("no-init") || c.On("compat") {
		return false
	}
	return c.On("pid") || c.On("containall") || c.Has("fusemount")
}

// isolating returns the option that keeps ranks which share a node's memory from seeing each other's processes.
func (c Call) isolating() string {
	if c.On("no-pid") || !rankenv.IsRank(c.Env) || rankenv.LocalRanks(c.Env) == 1 {
		return ""
	}
	options := []string{"pid", "containall", "compat"}
	if i := slices.IndexFunc(options, c.On); i >= 0 {
		return options[i]
	}
	return ""
}

// nested says whether this call is made inside a container.
func (c Call) nested() bool {
	for _, variable := range []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"} {
		if value, _ := environ.Get(c.Env, variable); value != "" {
			return true
		}
	}
	return false
}

// On says whether an option that takes no value is on.
func (c Call) On(option string) bool {
	value, ok := c.Options[option]
	return ok && isTrue(value)
}

// Has says whether an option is set, to whatever value.
func (c Call) Has(option string) bool {
	_, ok := c.Options[option]
	return ok
}

// note says why a start is not accelerated.
func (c Call) note(reason string) string { return NotAccelerated(c.Env, reason) }

// NotAccelerated says why a start is plain.
func NotAccelerated(env []string, reason string) string { return once(env, "not accelerated: "+reason) }

// NotShared says why each rank has a container of its own.
func NotShared(env []string, reason string) string {
	return once(env, "the ranks of a node share no container: "+reason)
}

// once returns a line that one process of a job prints, and nothing in the others.
func once(env []string, text string) string {
	if !rankenv.SpeaksForJob(env) {
		return ""
	}
	return "mpiimport: " + text
}
