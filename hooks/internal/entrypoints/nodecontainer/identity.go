package nodecontainer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/rankenv"
)

// identity names the one container of this job and plan on this node: everything that it is made from goes into it.
// Ranks with another image, bind, option, directory, user or job get another name.
func identity(start []string, env []string) (string, error) {
	hash := sha256.New()
	add := func(words ...any) { fmt.Fprintf(hash, "%q\n", words) }
	add("launcher", launcher())
	groups, _ := os.Getgroups()
	add("user", os.Geteuid(), os.Getegid(), groups)
	for _, namespace := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		link, _ := os.Readlink("/proc/self/ns/" + namespace)
		add(namespace, link)
	}
	directory, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the working directory is gone: %w", err)
	}
	add("directory", directory)
	image := start[len(start)-2]
	var file syscall.Stat_t
	if err := syscall.Stat(image, &file); err != nil {
		return "", fmt.Errorf("the image %s cannot be looked at: %w", image, err)
	}
	add("image", file.Dev, file.Ino, file.Mtim.Sec, file.Mtim.Nsec, file.Size)
	add("start", start)
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if name == "HOME" || optionOf(name) != "" {
			add("variable", entry)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:24], nil
}

// launcher names the launcher's daemon on this node: the nearest process above that is no rank itself. Every
// launcher has one for each job or step, whatever it calls them. One that cannot be looked at, as slurmstepd, is none
// of mpiimport's and so it is one, too.
func launcher() string {
	pid := os.Getppid()
	for pid > 1 {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !rankenv.IsRank(strings.Split(string(environment), "\x00")) {
			break
		}
		parent, _ := stat(pid)
		pid = parent
	}
	_, started := stat(pid)
	return fmt.Sprintf("%d since %s, %x", pid, started, secret(pid))
}

// secret is what only the user to whom a process belongs can know of it, so that nobody else can tell the container's name
// beforehand and take it: the random addresses that the kernel gave the process. Of another user's process it is empty.
func secret(pid int) []byte {
	addresses, _ := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	return addresses
}

// stat returns the parent of a process and when it was started: fields 4 and 22 of proc_pid_stat(5).
func stat(pid int) (int, string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name in parentheses may hold anything.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0, ""
	}
	parent := 0
	_, _ = fmt.Sscan(fields[1], &parent)
	return parent, fields[19]
}

// inside returns the environment of a process that enters the instance: what made the container is behind it.
func inside(env []string, configuration string) []string {
	out := []string{}
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !ofContainer[optionOf(name)] && name != "APPTAINER_BINDPATH" && name != "SINGULARITY_BINDPATH" {
			out = append(out, entry)
		}
	}
	return withConfiguration(out, configuration)
}

// withConfiguration has the runtime keep its records of instances in a directory of this node. They lie below $HOME
// otherwise, which nodes share.
func withConfiguration(env []string, directory string) []string {
	env = environ.Set(env, "APPTAINER_CONFIGDIR", directory)
	return environ.Set(env, "SINGULARITY_CONFIGDIR", directory)
}
