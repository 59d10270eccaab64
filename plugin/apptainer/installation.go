package main

// build.sh writes these two anew: where mpiimport is installed, and its version.
const (
	prefix  = "/opt/mpiimport"
	version = "0"
)
