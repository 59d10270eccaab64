// The plugin of SingularityCE: `--mpiimport[=PROFILE]` on the commands that start containers. What it does is in
// mpiimport.org/hooks/plugin; here are the names that SingularityCE has for what it needs.
package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/sylabs/singularity/v4/pkg/cmdline"
	pluginapi "github.com/sylabs/singularity/v4/pkg/plugin"
	clicallback "github.com/sylabs/singularity/v4/pkg/plugin/callback/cli"
	"github.com/sylabs/singularity/v4/pkg/util/singularityconf"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/plugin"
)

// Plugin is the name that SingularityCE looks for.
var Plugin = pluginapi.Plugin{
	Manifest: pluginapi.Manifest{
		Name: plugin.Name, Author: plugin.Author, Version: version, Description: plugin.Description,
	},
	Callbacks: []pluginapi.Callback{(clicallback.Command)(register)},
}

func register(manager *cmdline.CommandManager) {
	plugin.Register(plugin.Runtime{
		Flavour: "singularityce",
		Prefix:  prefix,
		Command: manager.GetCmd,
		Config: func() map[string]string {
			config := singularityconf.GetCurrentConfig()
			if config == nil {
				return nil
			}
			return map[string]string{
				"allow setuid":      fmt.Sprint(config.AllowSetuid),
				"user bind control": fmt.Sprint(config.UserBindControl),
				"enable overlay":    fmt.Sprint(config.EnableOverlay),
				"enable underlay":   fmt.Sprint(config.EnableUnderlay),
				"mount dev":         fmt.Sprint(config.MountDev),
			}
		},
		Flag: func(value *string, commands ...*cobra.Command) {
			manager.RegisterFlagForCmd(&cmdline.Flag{
				ID: plugin.FlagID, Value: value, DefaultValue: "", Name: containerstart.Flag, Usage: containerstart.Usage, EnvKeys: plugin.EnvKeys,
			}, commands...)
		},
	})
}
