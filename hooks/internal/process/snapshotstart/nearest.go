package snapshotstart

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// Fact is one thing by which a program and its snapshot find each other. One that is not Compared is only for people.
type Fact struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Compared bool   `json:"compared"`
}

// factsFile is where an entry of a library has what its key is made of.
const factsFile = "facts"

// Facts is what Key makes a name of.
func Facts(facts []Fact) string {
	text, _ := json.Marshal(facts)
	return string(text)
}

// nearest says what tells the program from the nearest one in a library; it is empty where that has none.
func nearest(library string, facts []Fact) string {
	files, _ := filepath.Glob(filepath.Join(library, "*", factsFile))
	best := []string{}
	for _, file := range files {
		others := factsIn(file)
		if len(others) != len(facts) {
			continue
		}
		if found := differences(facts, others); len(best) == 0 || len(found) < len(best) {
			best = found
		}
	}
	if len(best) == 0 {
		return ""
	}
	return ": the nearest one has " + strings.Join(best, ", and ")
}

// hasProgram says whether a library has a snapshot of this program, started in whatever way.
func hasProgram(library, name string) bool {
	files, _ := filepath.Glob(filepath.Join(library, "*", factsFile))
	return slices.ContainsFunc(files, func(file string) bool { return NameIn(factsIn(file)) == name })
}

// factsIn returns what the key of an entry is made of; nothing where that cannot be read.
func factsIn(file string) []Fact {
	var facts []Fact
	text, err := regularfile.Read(file)
	if err != nil || json.Unmarshal(text, &facts) != nil {
		return nil
	}
	return facts
}

func differences(facts, others []Fact) []string {
	found, told := []string{}, []string{}
	for i, fact := range facts {
		switch other := others[i]; {
		case fact == other:
		case !fact.Compared:
			told = append(told, fmt.Sprintf("%s %s, not %s", fact.Name, quoted(other.Value), quoted(fact.Value)))
		case fact.Value == "" || other.Value == "" || !isDigest(fact.Name):
			found = append(found, fmt.Sprintf("%s %s, not %s", fact.Name, quoted(other.Value), quoted(fact.Value)))
		default:
			found = append(found, "another "+fact.Name)
		}
	}
	return append(found, told...)
}

// isDigest says whether the value of a fact tells people nothing.
func isDigest(name string) bool { return slices.Contains([]string{ofImage, ofMounts}, name) }

const (
	ofProgram = "the program"
	ofImage   = "image, or root of the file system"
	ofMounts  = "set of options and binds of the container"
)

// longest is in bytes, of a value that is shown.
const longest = 200

func quoted(value string) string {
	value = strings.TrimSpace(strings.ReplaceAll(value, "\x00", " "))
	if len(value) > longest {
		value = value[:longest] + "..."
	}
	return fmt.Sprintf("%q", value)
}

// NameIn returns the program's name among the facts of its key.
func NameIn(facts []Fact) string {
	if at := slices.IndexFunc(facts, isProgram); at >= 0 {
		return facts[at].Value
	}
	return ""
}

func isProgram(fact Fact) bool { return fact.Name == ofProgram }
