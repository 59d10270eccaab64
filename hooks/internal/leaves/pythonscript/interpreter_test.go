package pythonscript

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheInterpreterOfAScript(t *testing.T) {
	for text, want := range map[string]string{
		"#!/usr/bin/python3\nimport x\n":                                          "/usr/bin/python3",
		"#! /opt/venv/bin/python3.11 -Es\nimport x\n":                             "/opt/venv/bin/python3.11 -Es",
		"#!/usr/bin/env python3\nimport x\n":                                      "python3",
		"#!/usr/bin/env -S python3 -u\nimport x\n":                                "python3 -u",
		"#!/bin/sh\n'''exec' /a/very/long/path/python \"$0\" \"$@\"\n' '''\n":     "/a/very/long/path/python",
		"#!/bin/sh\n'''exec' \"/a path/python\" \"$0\" \"$@\"\n' '''\nimport x\n": "/a path/python",
		"#!/bin/sh\npython app.py\n":                                              "",
		"#!/usr/bin/perl\n":                                                       "",
		"#!\n\n":                                                                  "",
		"import x\n":                                                              "",
		"\x7fELF\n#!/usr/bin/python3\n":                                           "",
		"":                                                                        "",
	} {
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Interpreter(file), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Interpreter(t.TempDir()); got != nil {
		t.Errorf("a directory: %q", got)
	}
}

func TestOptionsThatIgnoreThePath(t *testing.T) {
	for line, want := range map[string]string{
		"python": "", "python -u": "", "python -I": "-I", "python -Es": "-Es", "python -X importtime -E": "-E",
		"python -W ignore::Exception": "", "python -XE": "", "python -WI": "", "python -uI": "-uI",
	} {
		if got := Ignoring(strings.Fields(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	words := []string{"python", "-u"}
	if Ignoring(words); !slices.Equal(words, []string{"python", "-u"}) {
		t.Errorf("%q", words)
	}
}
