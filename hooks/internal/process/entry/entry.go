// Package entry decides how a container's command starts, so that its python is accelerated from the outset.
package entry

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/pythoncli"
	"mpiimport.org/hooks/internal/leaves/pythonscript"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/process/snapshotstart"
)

// Process is what is known about the process that will become the command.
type Process struct {
	Prefix string   // where mpiimport lies, seen from here
	Pid    int      // kept by exec
	Env    []string // its environment

	IsAhead bool // it will begin in a container that brings a library of snapshots, which cannot be looked at from here
}

// Start returns the command line and the environment to execute.
func Start(command []string, p Process) ([]string, []string) {
	if off(p.Env) {
		return command, p.Env
	}
	env := unsetAsked(p.Env)
	// What an outer entry said was meant for its own process, and a plan for containers started out there.
	for _, name := range []string{ourvars.Start, ourvars.Pid, ourvars.Plan} {
		env = environ.Unset(env, name)
	}
	isRank := rankenv.IsRank(p.Env)
	if isRank {
		env = environ.Set(env, ourvars.Pid, strconv.Itoa(p.Pid))
	}
	if isPython(filepath.Base(command[0])) && !inspects(p.Env) {
		script := prefix.StartScript(p.Prefix)
		line := pythoncli.Parse(command[1:])
		makes := snapshotstart.Makes(p.Env)
		startsEarly := isRank || makes
		mayLead := snapshotstart.Fits(line.Options) && (makes || isRank && p.IsAhead || ourvars.PreparesAlways(p.Env))
		leads := !line.Plain && (mayLead || isPrepared(command[0], line, p))
		switch {
		case line.Plain, !startsEarly && !leads:
		case line.Target[0] == script:
			// Who started this process has done it.
			if how, said := environ.Get(p.Env, ourvars.Start); said {
				env = environ.Set(env, ourvars.Start, how)
			}
			return command, env
		default:
			// What starts python by its sitecustomize is no part of a program that starts early.
			env = environ.DropPath(env, "PYTHONPATH", prefix.SiteDirectory(p.Prefix))
			how := "early"
			if line.NoSite {
				how = "early-nosite"
			}
			if leads {
				// It goes on as below where there is no snapshot.
				words := []string{prefix.PythonMPI(p.Prefix), snapshotstart.Python, command[0]}
				for _, option := range line.Options {
					words = append(words, snapshotstart.Option, option)
				}
				return append(append(words, line.Target...), line.Args...), environ.Set(env, ourvars.Start, how)
			}
			words := line.Words("-S", script)
			return append([]string{command[0]}, words...), environ.Set(env, ourvars.Start, how)
		}
	}
	return command, environ.PrependPath(env, "PYTHONPATH", prefix.SiteDirectory(p.Prefix))
}

// isPrepared says whether a library has something for the program, used already or not yet.
func isPrepared(python string, line pythoncli.Line, p Process) bool {
	words := append(line.Target[:len(line.Target):len(line.Target)], line.Args...)
	found, early := snapshotstart.FindPrepared(p.Prefix, python, line.Options, words, p.Env)
	return found != nil || early != nil
}

// WouldRun says why a command that is to fill a store would run instead; it is empty where nothing speaks against it.
func WouldRun(command []string, env []string) string {
	if off(env) || !ourvars.IsFilling(env) || isPython(filepath.Base(command[0])) {
		return ""
	}
	for _, file := range Candidates(command[0], env) {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		python := pythonscript.Interpreter(file)
		if python == nil || pythonscript.Ignoring(python) == "" {
			return ""
		}
		return fmt.Sprintf("%s starts %s, which does not look at PYTHONPATH; start it by python %s", command[0], strings.Join(python, " "), file)
	}
	return ""
}

// oldest is the minor version of Python 3 that is served first. Others start once if their name tells.
const oldest = 10

// isPython says whether a program of this name is python, python3, python3.N or the free-threaded python3.Nt, and may be one that is
// served.
func isPython(name string) bool {
	version, ok := strings.CutPrefix(name, "python")
	if !ok || version == "" || version == "3" {
		return ok
	}
	minor, ok := strings.CutPrefix(strings.TrimSuffix(version, "t"), "3.")
	if !ok || strings.Trim(minor, "0123456789") != "" {
		return false
	}
	number, err := strconv.Atoi(minor)
	return err == nil && number >= oldest
}

func off(env []string) bool {
	mode, _ := environ.Get(env, ourvars.Mode)
	return mode == "" || mode == "0"
}

// unsetAsked removes the variables that the profile wants gone. The runtime has emptied them; one that has a value got it
// from the caller, who wins.
func unsetAsked(env []string) []string {
	names, _ := environ.Get(env, ourvars.Unset)
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ':' }) {
		if value, _ := environ.Get(env, name); value == "" {
			env = environ.Unset(env, name)
		}
	}
	return environ.Unset(env, ourvars.Unset)
}

// inspects says whether python goes interactive after the program, as with -i.
func inspects(env []string) bool {
	value, _ := environ.Get(env, "PYTHONINSPECT")
	return value != ""
}
