package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/entrypoints/imagecache"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/jobnotes"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// byOCI runs a command in an image of podman's or docker's, in the current directory.
func (c Call) byOCI(name string, words []string, off bool) (Outcome, error) {
	options, image, command := ociWords(words)
	switch {
	case image == "":
		return Outcome{}, fmt.Errorf("no image given; %s", ExecUsage)
	case strings.HasPrefix(image, "/"), strings.HasPrefix(image, "."), strings.HasSuffix(image, ".sif"):
		return Outcome{}, fmt.Errorf("there is no image %s; mend the path", image)
	case len(command) == 0:
		return Outcome{}, fmt.Errorf("no command given for the image %s; %s", image, ExecUsage)
	case rankenv.IsRank(c.Env):
		return Outcome{}, fmt.Errorf("%s is an image of docker or podman, whose containers do not reach the launcher outside; start it inside: mpiimport exec %s mpiexec -n 4 %s",
			image, image, strings.Join(command, " "))
	}
	runtime, found, err := c.ociRuntime(image)
	if err != nil {
		return Outcome{}, err
	}
	jobnotes.Leave(c.Env, jobnotes.Container)
	leftOut := []string{}
	line := append([]string{runtime, "run", "--rm", "--interactive"}, surroundings(runtime, c.Root)...)
	if !off {
		chosen, err := profile.Choose(name, c.Prefix, c.Env)
		if err != nil {
			return Outcome{}, err
		}
		accelerated, lines, err := c.ociOptions(chosen, command, found, append([]string{runtime}, options...))
		if err != nil {
			return Outcome{}, err
		}
		leftOut = lines
		line = append(line, accelerated...)
	} else {
		line = append(line, "--entrypoint=")
	}
	line = append(append(line, options...), image)
	return Outcome{Args: append(line, command...), Env: c.Env, LeftOut: leftOut}, nil
}

// ociWords splits a command line. Options are single words, for nobody here knows which of them take another.
func ociWords(words []string) ([]string, string, []string) {
	i := 0
	for i < len(words) && strings.HasPrefix(words[i], "-") {
		i++
	}
	if i == len(words) {
		return words, "", nil
	}
	return words[:i], words[i], words[i+1:]
}

// ociImage is what podman and docker tell of an image. ID is a digest of all that it holds.
type ociImage struct {
	ID          string `json:"Id"`
	Config      struct{ Env []string }
	GraphDriver struct{ Name string }
}

// ociRuntime returns the runtime that has the image, and what it tells of that; the first one on PATH, which will fetch it,
// where none has.
func (c Call) ociRuntime(image string) (string, ociImage, error) {
	present := []string{}
	for _, runtime := range []string{"podman", "docker"} {
		if _, err := exec.LookPath(runtime); err != nil {
			continue
		}
		present = append(present, runtime)
		if found, ok := inspect(runtime, image); ok {
			return runtime, found, nil
		}
	}
	if len(present) == 0 {
		return "", ociImage{}, fmt.Errorf("there is no file or directory %s, and neither podman nor docker, which know images by name, is on PATH", image)
	}
	return present[0], ociImage{}, nil
}

func inspect(runtime, image string) (ociImage, bool) {
	output, err := exec.Command(runtime, "image", "inspect", image).Output()
	if err != nil {
		return ociImage{}, false
	}
	found := []ociImage{}
	if json.Unmarshal(output, &found) != nil || len(found) == 0 {
		return ociImage{}, false
	}
	return found[0], true
}

// imageCache returns where the container keeps stores: it is a new one, so nothing in it has changed yet. Only of layers that the
// kernel lays over each other is known what the image has brought and what the container has changed. What the container may do
// follows from the runtime and its options.
func (c Call) imageCache(plan launch.Plan, image ociImage, line []string) (launch.ImageCache, bool) {
	isLayered := slices.Contains([]string{"overlay", "overlay2", "overlayfs"}, image.GraphDriver.Name)
	if !plan.AsksForImage() || image.ID == "" || !isLayered {
		return launch.ImageCache{}, false
	}
	directory := imagecache.ForImage(image.ID, c.Env)
	kept := launch.ImageCache{Directory: directory, Image: image.ID, Born: time.Now().UnixNano()}
	if plan.BringsLibrary() {
		kept.Confined = confined(line)
	}
	return kept, directory != ""
}

// confined returns a digest of what a container may do that is started so: of the options, and of the runtime's version, for its
// filter of system calls is a part of it. It is empty where that cannot be told.
func confined(line []string) string {
	asks := map[string]string{"podman": "{{.Client.Version}}", "docker": "{{.Server.Version}}"}
	version, err := exec.Command(line[0], "version", "--format", asks[line[0]]).Output()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append(line, string(version)), "\x00")))
	return hex.EncodeToString(sum[:16])
}

// surroundings make the container see what a person expects of a command: the current directory, the terminal, and
// files that belong to the caller.
func surroundings(runtime string, root bool) []string {
	out := []string{}
	if directory, err := os.Getwd(); err == nil && directory != "/" {
		out = append(out, "--volume="+directory+":"+directory, "--workdir="+directory)
	}
	if isTerminal(0) && isTerminal(1) {
		out = append(out, "--tty")
	}
	if !root && runtime == "podman" {
		out = append(out, "--userns=keep-id")
	} else if !root {
		out = append(out, fmt.Sprintf("--user=%d:%d", os.Getuid(), os.Getgid()))
	}
	return out
}

func isTerminal(descriptor int) bool {
	_, err := unix.IoctlGetTermios(descriptor, unix.TCGETS)
	return err == nil
}

// ociOptions carry the plan out. Ranks are taken to be shielded from each other, as in a user namespace, for the
// runtimes' filter of system calls may keep them from reading each other's memory. The second result says what is left out.
func (c Call) ociOptions(chosen profile.Chosen, command []string, image ociImage, line []string) ([]string, []string, error) {
	request := c.request(true, command)
	request.Shm = launch.ShmPrivate
	shared, chosen, err := launch.ShareChosen(chosen, func([]string) launch.Request { return request })
	if err != nil {
		return nil, nil, err
	}
	plan, err := shared.For(request)
	if err != nil {
		return nil, nil, err
	}
	plan = plan.BringingLibrary(c.Env, true)
	if kept, ok := c.imageCache(plan, image, line); ok {
		plan = plan.WithCache(kept)
	}
	out := []string{"--entrypoint=" + launch.EntryPath}
	for _, m := range plan.Mounts {
		out = append(out, "--volume="+m.Bind())
	}
	for _, device := range plan.Devices {
		out = append(out, "--device="+device)
	}
	for _, target := range plan.Memory {
		out = append(out, "--tmpfs="+target+":"+strings.Join(launch.MemoryOptions(), ","))
	}
	for _, v := range plan.Changes(c.Env, true) {
		value, _ := environ.Get(v.In(image.Config.Env), v.Name)
		out = append(out, "--env="+v.Name+"="+value)
	}
	return out, chosen.LeftOut, nil
}
