module mpiimport.org/hooks

go 1.23.0

require gopkg.in/yaml.v3 v3.0.1
