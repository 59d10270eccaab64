// Package imagecache finds the directory of this node in which the containers of one image keep stores. It lies in the place
// of the stores of the user whose containers they are (mpiimport/runtime/store/cache_names.py), and no other is mounted in them.
package imagecache

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/storecache"
)

// parent is the memory of the node.
const parent = "/dev/shm"

// ForImage returns the directory for the containers of an image. Where it is missing it is made, unless somebody has to ask for
// a place first: `mpiimport session start` in a batch job, `mpiimport run --session`. It is empty where there is none, or one
// that is not this user's alone. The environment is that of the caller, or of the container.
func ForImage(identity string, env []string) string { return in(parent, identity, env) }

func in(parent, identity string, env []string) string {
	owner, ok := storecache.Owner()
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
		if !storecache.IsOwn(directory) {
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
		return storecache.Name(owner, env), false
	}
	return storecache.Name(owner, env), storecache.BatchJob(env) == "" || ourvars.IsFilling(env)
}
