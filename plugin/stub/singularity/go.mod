module github.com/sylabs/singularity/v4

go 1.23.0

require github.com/spf13/cobra v1.8.0
