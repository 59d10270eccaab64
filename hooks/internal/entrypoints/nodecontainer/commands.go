// Package nodecontainer lets the ranks of a job on one node share a container: the first one has a named instance of
// Apptainer or SingularityCE started, all execute their command in it, and a keeper ends it after the last one.
package nodecontainer

import (
	"fmt"
	"strings"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/entrypoints/apptainercli"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
)

// Options that say what the container is: they go to `instance start` alone. Of those not named in either list the
// ranks keep containers of their own: what they mean for a shared one is not known, or differs.
var ofContainer = set(`authfile bind contain containlibs disable-cache docker-host docker-password docker-username fakeroot
	home mount no-home no-mount no-nv no-rocm no-tmp-sandbox nv overlay rocm scratch tmp-sandbox tmpdir underlay unsquash
	userns workdir writable-tmpfs`)

// Options that say how one process runs in it: they go to `exec`.
var ofProcess = set(`cleanenv cwd env env-file no-eval no-umask pwd`)

// Options that go to both.
var ofBoth = set(`add-caps drop-caps keep-privs no-privs`)

// Commands are the command lines that take the place of one container start.
type Commands struct {
	Image string
	start []string // options of `instance start`
	front []string // of the joining line, in front of the instance
	back  []string // and behind it
}

// Pays says whether a shared container is worth its start: where more than one rank of a node enters it.
func Pays(env []string) bool { return rankenv.IsRank(env) && rankenv.LocalRanks(env) != 1 }

// Split divides a call that is to run command among the two. A reason says why the ranks cannot share a container.
func Split(line apptainercli.Line, binds, command, env []string) (Commands, string) {
	c := Commands{Image: line.Image(), front: append([]string{}, line.Globals()...)}
	if line.Action != containerstart.Exec {
		return c, "only what exec starts can share one"
	}
	if strings.Contains(c.Image, "://") {
		return c, "the image is not a file or directory of this machine"
	}
	for _, word := range line.Globals() {
		if !strings.HasPrefix(word, "-") || strings.HasPrefix(word, "--config") || strings.HasPrefix(word, "-c") {
			return c, "a configuration file is given"
		}
	}
	c.front = append(c.front, line.Action)
	for _, bind := range binds {
		c.start = append(c.start, "--bind", bind)
	}
	for _, option := range line.Given() {
		word := fmt.Sprintf("--%s=%s", option.Name, option.Value)
		if !isKnown(option.Name) {
			return c, fmt.Sprintf("the option --%s may mean something else in a shared one", option.Name)
		}
		if !ofProcess[option.Name] {
			c.start = append(c.start, word)
		}
		if !ofContainer[option.Name] {
			c.front = append(c.front, word)
		}
	}
	if name := unsuited(env); name != "" {
		return c, fmt.Sprintf("%s is set, and it may mean something else in a shared one", name)
	}
	c.back = command
	return c, ""
}

// Start returns the line that starts the instance. Our own file takes the place of the image's start script, which
// would start the image's services; images of other makers have none, and then nothing starts.
func (c Commands) Start(installed, name string) []string {
	script := prefix.Keeper(installed) + ":/.singularity.d/" + StartScript + ":ro"
	words := append([]string{"instance", "start"}, c.start...)
	return append(words, "--bind", script, c.Image, name)
}

// Join returns the line that executes the command in the instance.
func (c Commands) Join(name string) []string {
	return append(append(append([]string{}, c.front...), "instance://"+name), c.back...)
}

// StartScript is the name by which the keeper's program is called in the instance, where it has nothing to do.
const StartScript = "startscript"

func isKnown(option string) bool { return ofContainer[option] || ofProcess[option] || ofBoth[option] }

// unsuited returns a variable that stands for an option which the ranks cannot share.
func unsuited(env []string) string {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		option := optionOf(name)
		if option == "config-file" && value != "" {
			return name
		}
		if apptainercli.Knows(option) && !isKnown(option) && !isFalse(value) {
			return name
		}
	}
	return ""
}

// optionOf returns the option that a variable of the runtimes stands for: APPTAINER_NO_EVAL, or in older versions
// SINGULARITY_UNSHARE_PID.
func optionOf(variable string) string {
	name, _ := containerstart.OfRuntimes(variable)
	return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(name), "unshare_"), "_", "-")
}

func isFalse(value string) bool {
	return value == "" || value == "0" || strings.EqualFold(value, "false")
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(words) {
		out[word] = true
	}
	return out
}
