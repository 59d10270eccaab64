package commands

import (
	"path/filepath"
	"slices"
	"strings"
)

// wrapper is a program that becomes the command behind its own options. Those of values, letters and long names, take
// the next word; words is the number of words between the options and the command.
type wrapper struct {
	letters string
	values  []string
	words   int
}

var wrappers = map[string]wrapper{
	"chrt":    {letters: "TPD", values: []string{"sched-runtime", "sched-period", "sched-deadline"}, words: 1},
	"env":     {letters: "uC", values: []string{"unset", "chdir"}},
	"ionice":  {letters: "cn", values: []string{"class", "classdata"}},
	"nice":    {letters: "n", values: []string{"adjustment"}},
	"nohup":   {},
	"numactl": {letters: "iwpPmNC", values: []string{"interleave", "weighted-interleave", "preferred", "preferred-many", "membind", "cpunodebind", "physcpubind"}},
	"setsid":  {},
	"stdbuf":  {letters: "ioe", values: []string{"input", "output", "error"}},
	"taskset": {words: 1},
	"time":    {letters: "fo", values: []string{"format", "output"}},
	"timeout": {letters: "ks", values: []string{"kill-after", "signal"}, words: 1},
}

// launcherPlace returns where on the line the program stands that known wrappers lead to: 0 where there are none. It
// is the length of the line where they lead to nothing, or clear the environment.
func launcherPlace(line []string) int {
	place := 0
	for place < len(line) {
		name := filepath.Base(line[place])
		w, known := wrappers[name]
		if !known {
			break
		}
		options := place + 1
		place = w.behindOptions(line, options) + w.words
		if name == "env" {
			if place = behindVariables(line, options, place); place == 0 {
				return len(line)
			}
		}
	}
	return min(place, len(line))
}

func (w wrapper) behindOptions(line []string, place int) int {
	for place < len(line) && strings.HasPrefix(line[place], "-") {
		option := line[place]
		place++
		if option == "--" {
			break
		}
		if w.takesNext(option) {
			place++
		}
	}
	return place
}

// behindVariables returns the place behind what env sets; 0 where it starts from nothing.
func behindVariables(line []string, options, place int) int {
	for _, word := range line[options:min(place, len(line))] {
		if word == "-" || word == "-i" || word == "--ignore-environment" {
			return 0
		}
	}
	for place < len(line) && strings.Contains(line[place], "=") {
		place++
	}
	return place
}

// takesNext says whether the value of an option is the next word.
func (w wrapper) takesNext(option string) bool {
	if long, isLong := strings.CutPrefix(option, "--"); isLong {
		return slices.Contains(w.values, long)
	}
	at := strings.IndexAny(option[1:], w.letters)
	return at >= 0 && at == len(option)-2
}
