package containerstart

import (
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/filesystems"
)

// What the runtimes take as a bind of an image that is a file: SOURCE:TARGET:OPTIONS among others, with image-src among the options.
var bindOfImage = regexp.MustCompile(`(?:^-B|[=,[]|^)([^-=,:[][^=,:[]*):([^,:]+):(?:(?:ro|rw|id=[0-9]+),)*image-src=`)

// boundImages returns what tells the image files that the caller binds, and where, from others: each begins with a semicolon.
// A bind that is written in another way is none: what lies in it is not known then.
func (c Call) boundImages() string {
	var found []string
	note := func(source, target string) {
		if told, ok := strings.CutPrefix(filesystems.Identity(source, filesystems.Mountinfo), "file:"); ok && path.IsAbs(target) {
			found = append(found, ";"+hex.EncodeToString([]byte(path.Clean(target)))+"="+told)
		}
	}
	said := slices.Clone(c.Words)
	for _, entry := range c.Env {
		if name, value, _ := strings.Cut(entry, "="); slices.Contains(bindVariables, name) {
			said = append(said, value)
		}
	}
	for _, text := range said {
		for _, match := range bindOfImage.FindAllStringSubmatch(text, -1) {
			note(match[1], match[2])
		}
		if source, target := mountOfImage(text); source != "" {
			note(source, target)
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), "")
}

// bindVariables stand for --bind and --mount.
var bindVariables = []string{
	"APPTAINER_BIND", "APPTAINER_BINDPATH", "APPTAINER_MOUNT", "SINGULARITY_BIND", "SINGULARITY_BINDPATH", "SINGULARITY_MOUNT",
}

// mountOfImage reads type=bind,source=...,destination=...,image-src=... as --mount takes it.
func mountOfImage(text string) (source, target string) {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "--mount="), "["), "]")
	isImage := false
	for _, field := range strings.Split(text, ",") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "source", "src":
			source = value
		case "destination", "dst", "target":
			target = value
		case "image-src":
			isImage = true
		}
	}
	if !isImage || target == "" {
		return "", ""
	}
	return source, target
}
