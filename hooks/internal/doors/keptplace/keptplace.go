// Package keptplace finds the directory of this node in which the containers of one image keep stores. It lies in the place
// of the stores of the user whose containers they are (mpiimport/runtime/store/place_names.py), and no other is mounted in them.
package keptplace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// parent is the memory of the node.
const parent = "/dev/shm"

// batchJobs are the variables that tell a batch job, in the order in which they count (BATCH_JOBS of place_names.py).
var batchJobs = []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID"}

// ForImage returns the directory for the containers of an image. Where it is missing it is made, unless somebody has to ask for
// a place first: `mpiimport session start` in a batch job, `mpiimport run --session`. It is empty where there is none, or one
// that is not this user's alone. The environment is that of the caller, or of the container.
func ForImage(identity string, env []string) string { return in(parent, identity, env) }

func in(parent, identity string, env []string) string {
	owner, ok := outside(os.Geteuid())
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(identity))
	name, mayMake := placeOf(owner, env)
	if name == "" {
		return ""
	}
	place := filepath.Join(parent, name)
	images := filepath.Join(place, "images")
	image := filepath.Join(images, hex.EncodeToString(sum[:16]))
	for _, directory := range []string{place, images, image} {
		if mayMake || directory != place {
			_ = os.Mkdir(directory, 0o700)
		}
		if !isOwn(directory) {
			return ""
		}
	}
	// Nobody is to take it for one that has not been used for long before it is mounted.
	now := time.Now()
	_ = os.Chtimes(image, now, now)
	return image
}

// placeOf returns the name of the user's place, and whether it may be made.
func placeOf(owner int, env []string) (string, bool) {
	if session, _ := environ.Get(env, ourvars.Session); session != "" {
		if !regexp.MustCompile(`^session-[0-9a-f]{32}(\.\w+)?$`).MatchString(session) {
			return "", false
		}
		return fmt.Sprintf("mpiimport-%d.%s", owner, session), false
	}
	fill, _ := environ.Get(env, ourvars.Fill)
	job := batchJob(env)
	return fmt.Sprintf("mpiimport-kept.%d%s", owner, job), job == "" || fill == "1"
}

// batchJob returns how the names of what a batch job keeps end; it is empty outside one.
func batchJob(env []string) string {
	for _, name := range batchJobs {
		if job, _ := environ.Get(env, name); job != "" {
			return "." + strings.Map(func(letter rune) rune {
				if unicode.IsLetter(letter) || unicode.IsNumber(letter) {
					return letter
				}
				return '_'
			}, job)
		}
	}
	return ""
}

// isOwn says whether a directory is this user's alone: another user can make one of any name first.
func isOwn(directory string) bool {
	info, err := os.Lstat(directory)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	return int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

// outside returns the number of a user outside of the user namespace of this process: user_namespaces(7), uid_map.
func outside(user int) (int, bool) {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 0, false
	}
	return mapped(user, string(text))
}

func mapped(user int, ranges string) (int, bool) {
	lines := strings.Split(strings.TrimSpace(ranges), "\n")
	at := slices.IndexFunc(lines, func(line string) bool {
		inside, _, size, ok := rangeOf(line)
		return ok && inside <= user && user < inside+size
	})
	if at < 0 {
		return 0, false
	}
	inside, out, _, _ := rangeOf(lines[at])
	return out + user - inside, true
}

func rangeOf(line string) (inside, outside, size int, ok bool) {
	n, _ := fmt.Sscan(line, &inside, &outside, &size)
	return inside, outside, size, n == 3
}
