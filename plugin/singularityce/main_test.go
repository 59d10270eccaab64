package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/sylabs/singularity/v4/pkg/cmdline"
	clicallback "github.com/sylabs/singularity/v4/pkg/plugin/callback/cli"
	"github.com/sylabs/singularity/v4/pkg/util/singularityconf"

	"mpiimport.org/hooks/plugin/plugintest"
)

func TestTheRuntimesCommandsTakeTheFlag(t *testing.T) {
	plugintest.Check(t, func(commands map[string]*cobra.Command) {
		Plugin.Callbacks[0].(clicallback.Command)(&cmdline.CommandManager{Commands: commands})
	}, func(allowed bool) { singularityconf.Current.UserBindControl = allowed })
}
