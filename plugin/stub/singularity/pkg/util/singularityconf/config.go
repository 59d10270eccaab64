// Package singularityconf has those names of SingularityCE's package that the plugin uses.
package singularityconf

// File is the runtime's configuration.
type File struct {
	UserBindControl bool
}

// Current is what GetCurrentConfig returns.
var Current = &File{UserBindControl: true}

// GetCurrentConfig returns the configuration in force.
func GetCurrentConfig() *File { return Current }
