// The adapters against small stand-ins of the runtimes, for tests; build.sh compiles them in the runtimes' own trees.
module mpiimport.org/plugin

go 1.23.0

require (
	github.com/apptainer/apptainer v0.0.0
	github.com/spf13/cobra v1.8.0
	github.com/sylabs/singularity/v4 v4.0.0
	mpiimport.org/hooks v0.0.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.5 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/sys v0.30.0 // indirect
)

replace (
	github.com/apptainer/apptainer => ./stub/apptainer
	github.com/sylabs/singularity/v4 => ./stub/singularity
	mpiimport.org/hooks => ../hooks
)
