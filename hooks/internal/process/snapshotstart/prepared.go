package snapshotstart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/snapshotlibrary"
	"mpiimport.org/hooks/internal/leaves/storecache"
)

// immutable is a word of the starter: what lies in the image file cannot have changed.
const immutable = "--immutable"

// Prepared is a snapshot in a library: of this program, or, as its base, of one that begins alike.
type Prepared struct {
	entry     *snapshotlibrary.Entry
	isOfOther bool
	isBase    bool
}

// Base returns what is left of it when the program, or what it imports, has been edited.
func (p Prepared) Base() *Prepared {
	p.isBase = true
	return &p
}

// FindPrepared looks in the library for what a program, as it is started now, may start from. It returns nil where there is nothing,
// and an error that says why what is there is not used yet.
func FindPrepared(installed, python string, options, words, env []string) (*Prepared, error) {
	library := libraryOf(installed, env)
	if library == "" || !maySearch(options, words, env) {
		return nil, nil
	}
	library, isThere := snapshotlibrary.There(library)
	if !isThere {
		return nil, nil
	}
	name, facts, err := Key(installed, python, options, words, env)
	if err != nil {
		return nil, nil
	}
	found := &Prepared{entry: snapshotlibrary.Find(library, name)}
	if found.entry == nil {
		found.entry = begunAlikeIn(library, Begin(facts, words), words)
		found.isOfOther, found.isBase = true, true
	}
	if found.entry == nil {
		return nil, nil
	}
	if rest := found.entry.Remaining(env); rest > 0 {
		return nil, fmt.Errorf("it was prepared just now; ranks use it in %d s, when each node sees it", (rest+time.Second-1)/time.Second)
	}
	return found, nil
}

// PreparedOtherwise returns, as an error, what tells the way in which a rank's program is started from that for which it was prepared;
// nil where it was not prepared. Other ranks may be started in that way, and take no part in what the ranks of a served job do together.
func PreparedOtherwise(installed, python string, options, words, env []string) error {
	if !rankenv.IsRank(env) || !isSwitchedOn(env) || !isStartedUsually(words, env) {
		return nil
	}
	library, isThere := snapshotlibrary.There(libraryOf(installed, env))
	name, err := nameOf(words)
	if !isThere || err != nil || !snapshotlibrary.Had(library, NameDigest(name)) || !storecache.IsOwn(library) || !hasProgram(library, name) {
		return nil
	}
	_, facts, err := Key(installed, python, options, words, env)
	if err != nil {
		return err
	}
	return errors.New(notPrepared + nearest(library, facts))
}

const notPrepared = "none is prepared for this program, as it is started now"

// maySearch says whether a program that is started so may have a snapshot.
func maySearch(options, words, env []string) bool {
	return Fits(options) && isSwitchedOn(env) && isStartedUsually(words, env)
}

// WhyNone says why a program starts from no snapshot though there is a library; it is empty where no snapshot would be looked for.
func WhyNone(installed, python string, options, words, env []string) string {
	library := libraryOf(installed, env)
	info, err := os.Lstat(library)
	if err != nil || !info.IsDir() || !maySearch(options, words, env) {
		return ""
	}
	if real, _ := snapshotlibrary.There(library); !storecache.IsOwn(real) {
		return "others may write to " + library + ", or rename it"
	}
	key, facts, err := Key(installed, python, options, words, env)
	if err != nil {
		return err.Error()
	}
	if why := WhyTried(library, key); why != "" {
		return why
	}
	return notPrepared + nearest(library, facts)
}

// Command returns what starts the program from it. The starter comes back to python-mpi where it turns out not to fit.
func (p *Prepared) Command(installed, python string, options, words, env []string) []string {
	// What nobody has prepared for this program, nobody misses.
	isMissed := !p.isOfOther && !ourvars.PreparesAlways(env) || ourvars.IsOn(env, ourvars.Verbose)
	isQuiet := !isMissed || !Speaks(installed, env)
	command := append(starter(installed, python, options, isQuiet), key, filepath.Base(p.entry.Path))
	if p.isBase {
		command = append(command, base)
	} else if mayPrepare(env) {
		command = append(command, Renew)
	}
	if image, _ := environ.Get(env, ourvars.Image); strings.HasPrefix(image, ourvars.ImageFile+":") {
		command = append(command, immutable)
	}
	return append(append(command, p.entry.Path), words...)
}

// libraryOf returns the library that this process sees. A container sees one where a launch plan has brought it.
func libraryOf(installed string, env []string) string {
	if named, _ := environ.Get(env, ourvars.Snapshots); named == "" && installed == prefix.InContainer {
		return ""
	}
	return snapshotlibrary.Directory(env)
}

// begunAlikeIn returns the entry of a library with the longest base with which the script begins, or nothing. An empty file for each
// lies in the directory of this name.
func begunAlikeIn(library, name string, words []string) *snapshotlibrary.Entry {
	if name == "" {
		return nil
	}
	names, _ := os.ReadDir(filepath.Join(library, name))
	found, paths := map[string]*snapshotlibrary.Entry{}, []string{}
	for _, each := range names {
		if entry := snapshotlibrary.Find(library, each.Name()); entry != nil {
			found[entry.Path], paths = entry, append(paths, entry.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return found[longestBegin(program(words)[0], paths)]
}
