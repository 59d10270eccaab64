// Package singularityconf has those names of SingularityCE's package that the plugin uses.
package singularityconf

// File is the runtime's configuration.
type File struct {
	AllowSetuid     bool
	UserBindControl bool
	EnableOverlay   string
	EnableUnderlay  string
	MountDev        string
}

// Current is what GetCurrentConfig returns.
var Current = &File{UserBindControl: true}

// GetCurrentConfig returns the configuration in force.
func GetCurrentConfig() *File { return Current }
