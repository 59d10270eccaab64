module mpiimport.org/hooks

go 1.23.0

require (
	github.com/opencontainers/runtime-spec v1.2.1
	github.com/spf13/cobra v1.8.0
	github.com/spf13/pflag v1.0.5
	go.yaml.in/yaml/v3 v3.0.4
	golang.org/x/sys v0.30.0
	tags.cncf.io/container-device-interface/specs-go v1.1.1
)

require github.com/inconshreveable/mousetrap v1.1.0 // indirect
