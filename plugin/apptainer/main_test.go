package main

import (
	"testing"

	"github.com/apptainer/apptainer/pkg/cmdline"
	clicallback "github.com/apptainer/apptainer/pkg/plugin/callback/cli"
	"github.com/apptainer/apptainer/pkg/util/apptainerconf"
	"github.com/spf13/cobra"

	"mpiimport.org/hooks/plugin/plugintest"
)

func TestTheRuntimesCommandsTakeTheFlag(t *testing.T) {
	plugintest.Check(t, func(commands map[string]*cobra.Command) {
		Plugin.Callbacks[0].(clicallback.Command)(&cmdline.CommandManager{Commands: commands})
	}, func(allowed bool) { apptainerconf.Current.UserBindControl = allowed })
}
