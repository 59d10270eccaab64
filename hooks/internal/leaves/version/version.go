// Package version says which mpiimport a program belongs to.
package version

import (
	"fmt"
	"os"
	"path/filepath"
)

// number is written by make, from the Python package.
var number = "unversioned: not built by make"

// Number returns the version of mpiimport.
func Number() string { return number }

// Print answers --version, where that is all that was asked for, and ends the program.
func Print() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(filepath.Base(os.Args[0]), number)
		os.Exit(0)
	}
}
