module mpiimport.org/hooks

go 1.23.0

require (
	github.com/opencontainers/runtime-spec v1.2.1
	gopkg.in/yaml.v3 v3.0.1
	tags.cncf.io/container-device-interface/specs-go v1.1.1
)

require golang.org/x/sys v0.30.0
