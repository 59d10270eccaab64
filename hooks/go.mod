module mpiimport.org/hooks

go 1.23.0

require gopkg.in/yaml.v3 v3.0.1

require golang.org/x/sys v0.30.0
