// The plugin of Apptainer: `--mpiimport[=PROFILE]` on the commands that start containers. What it does is in
// mpiimport.org/hooks/plugin; here are the names that Apptainer has for what it needs.
package main

import (
	"github.com/apptainer/apptainer/pkg/cmdline"
	pluginapi "github.com/apptainer/apptainer/pkg/plugin"
	clicallback "github.com/apptainer/apptainer/pkg/plugin/callback/cli"
	"github.com/apptainer/apptainer/pkg/util/apptainerconf"
	"github.com/spf13/cobra"

	"mpiimport.org/hooks/plugin"
	"mpiimport.org/hooks/start"
)

// Plugin is the name that Apptainer looks for.
var Plugin = pluginapi.Plugin{
	Manifest: pluginapi.Manifest{
		Name: plugin.Name, Author: plugin.Author, Version: version, Description: plugin.Description,
	},
	Callbacks: []pluginapi.Callback{(clicallback.Command)(register)},
}

func register(manager *cmdline.CommandManager) {
	plugin.Register(plugin.Runtime{
		Flavour: "apptainer",
		Prefix:  prefix,
		Command: manager.GetCmd,
		NoBinds: func() bool {
			config := apptainerconf.GetCurrentConfig()
			return config != nil && !config.UserBindControl
		},
		Flag: func(value *string, commands ...*cobra.Command) {
			manager.RegisterFlagForCmd(&cmdline.Flag{
				ID: plugin.FlagID, Value: value, DefaultValue: "", Name: start.Flag, Usage: start.Usage, EnvKeys: plugin.EnvKeys,
			}, commands...)
		},
	})
}
