module github.com/apptainer/apptainer

go 1.23.0

require github.com/spf13/cobra v1.8.0
