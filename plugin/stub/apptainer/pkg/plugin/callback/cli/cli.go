// Package cli has that name of Apptainer's package that the plugin uses.
package cli

import "github.com/apptainer/apptainer/pkg/cmdline"

// Command is called when the commands are there.
type Command func(*cmdline.CommandManager)
