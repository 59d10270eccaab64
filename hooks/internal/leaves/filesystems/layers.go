package filesystems

import (
	"os"
	"regexp"
	"strings"
)

const overlay = "overlay"

// podman and CRI-O (containers/storage) give each layer that they make a random name of its own. Behind it may stand a further
// directory of the same layer, where its files were copied for other user ids.
const layerName = `^(.*/)?l/[A-Z0-9]{26}(/\.\./diff[0-9]+)?$`

// Layers returns the names of the layers below the container whose root is mounted at a place, which tell its image from every
// other on this machine. It is empty where they are not such layers, which nobody changes.
func Layers(root, mountinfo string) string {
	text, err := os.ReadFile(mountinfo)
	if err != nil {
		return ""
	}
	lower := lowerDirectories(root, string(text))
	if lower == "" {
		return ""
	}
	isLayer := regexp.MustCompile(layerName)
	for _, directory := range strings.Split(lower, ":") {
		if !isLayer.MatchString(directory) {
			return ""
		}
	}
	return lower
}

// lowerDirectories returns what the last overlay that is mounted at a place lies over, between colons.
func lowerDirectories(root, mounts string) string {
	lower := ""
	for _, line := range strings.Split(mounts, "\n") {
		place, rest, ok := strings.Cut(line, " - ")
		fields, of := strings.Fields(place), strings.Fields(rest)
		if !ok || len(fields) < 5 || len(of) < 3 || unescape.Replace(fields[4]) != root {
			continue
		}
		lower = ""
		for _, option := range strings.Split(of[2], ",") {
			if value, found := strings.CutPrefix(option, "lowerdir="); found && of[0] == overlay {
				lower = value
			}
		}
	}
	return lower
}
