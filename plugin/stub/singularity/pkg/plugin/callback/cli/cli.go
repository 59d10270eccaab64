// Package cli has that name of SingularityCE's package that the plugin uses.
package cli

import "github.com/sylabs/singularity/v4/pkg/cmdline"

// Command is called when the commands are there.
type Command func(*cmdline.CommandManager)
