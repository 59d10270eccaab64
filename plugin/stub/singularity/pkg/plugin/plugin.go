// Package plugin has those names of SingularityCE's package that the plugin uses.
package plugin

// Manifest describes a plugin.
type Manifest struct {
	Name, Author, Version, Description string
}

// Callback is a function that the runtime calls.
type Callback any

// Plugin is what a plugin exports.
type Plugin struct {
	Manifest
	Callbacks []Callback
}
