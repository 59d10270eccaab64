package warmstart

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/keptplace"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// Fact is one thing by which a program and its image find each other. Of one that is not Compared only people hear.
type Fact struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Compared bool   `json:"compared"`
}

// factsFile is where a kept store has what its image is known by.
const factsFile = "facts"

// Facts is what Key makes a name of.
func Facts(facts []Fact) string {
	text, _ := json.Marshal(facts)
	return string(text)
}

// none says why no image is kept, if that is any news: the store is where the image would be, empty where there is no place for it.
func none(store string, facts []Fact, env []string) error {
	if session, _ := environ.Get(env, ourvars.Session); session != "" {
		return ErrNoneYet
	}
	keep, _ := environ.Get(env, ourvars.Keep)
	begun, making := filling(store)
	isToCome := keep == "auto" && (store != "" || keptplace.BatchJob(env) == "")
	switch {
	case isToCome && (making || !begun):
		return ErrNoneYet
	case making:
		return errMaking
	}
	return fmt.Errorf("none is kept for this program, as it is started now, on this node%s; mpiimport session start --warm makes one", nearest(store, facts))
}

var errMaking = errors.New("the one for this program is being made; processes that begin later use it")

// filling says whether somebody has begun to make the image of this store, and whether somebody makes it now: see begin_filling of
// mpiimport/runtime/store/place.py.
func filling(store string) (begun, making bool) {
	if store == "" {
		return false, false
	}
	file, err := regularfile.Open(keptplace.Filling(store))
	if err != nil {
		return false, false
	}
	defer file.Close()
	return true, syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// nearest says what tells the program from the nearest one of which an image is kept; it is empty where none is.
func nearest(store string, facts []Fact) string {
	images, _ := filepath.Glob(filepath.Join(filepath.Dir(store), "warm-*", "image"))
	best := []string{}
	for _, image := range images {
		var others []Fact
		text, err := regularfile.Read(filepath.Join(filepath.Dir(image), factsFile))
		if store == "" || err != nil || json.Unmarshal(text, &others) != nil || len(others) != len(facts) {
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
