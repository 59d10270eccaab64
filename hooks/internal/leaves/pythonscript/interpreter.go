// Package pythonscript reads from a script which Python it is for.
package pythonscript

import (
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/leaves/pythoncli"
	"mpiimport.org/hooks/internal/leaves/regularfile"
)

// beginning is as much of a file as is read: pip writes longer paths than a first line may have, in a second one.
const beginning = 4096

// Interpreter returns the Python that a script is for, and its options. It is empty for what is no script of Python.
func Interpreter(file string) []string {
	stream, err := regularfile.Open(file)
	if err != nil {
		return nil
	}
	defer stream.Close()
	text := make([]byte, beginning)
	length, _ := stream.Read(text)
	lines := strings.SplitN(string(text[:length]), "\n", 3)
	first, isScript := strings.CutPrefix(lines[0], "#!")
	if !isScript || len(lines) < 2 {
		return nil
	}
	words := strings.Fields(first)
	if len(words) == 1 && words[0] == "/bin/sh" {
		words = behindShell(lines[1])
	} else if len(words) > 1 && filepath.Base(words[0]) == "env" {
		words = words[1:]
		if words[0] == "-S" {
			words = words[1:]
		}
	}
	if len(words) == 0 || !strings.HasPrefix(filepath.Base(words[0]), "python") {
		return nil
	}
	return words
}

// behindShell reads the second line of a script for which the path of Python is too long or has blanks, as pip writes it.
func behindShell(line string) []string {
	const begin, end = `'''exec' `, ` "$0" "$@"`
	python, isPips := strings.CutPrefix(line, begin)
	python, isWhole := strings.CutSuffix(strings.TrimRight(python, " "), end)
	if !isPips || !isWhole {
		return nil
	}
	return []string{strings.Trim(python, `"`)}
}

// Ignoring returns the option by which a Python with these words does not come to what PYTHONPATH leads to: it looks at no
// variables, or runs no site. It is empty where there is none.
func Ignoring(words []string) string {
	for _, option := range pythoncli.Parse(append(append([]string{}, words[1:]...), "script")).Options {
		if !strings.HasPrefix(option, "--") && strings.HasPrefix(option, "-") && strings.ContainsAny(option, "IES") && option[1] != 'X' && option[1] != 'W' {
			return option
		}
	}
	return ""
}
