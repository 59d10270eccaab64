// Package plugintest checks an adapter on commands like those of the runtimes.
package plugintest

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mpiimport.org/hooks/containerstart"
)

// Commands returns the commands that start containers, by their words joined by _; run gets what each is run with.
func Commands(run func(*cobra.Command, []string)) map[string]*cobra.Command {
	out := map[string]*cobra.Command{}
	for _, action := range containerstart.Actions {
		words := strings.Fields(action)
		command := &cobra.Command{Use: words[len(words)-1], Run: run}
		command.Flags().SetInterspersed(false)
		command.Flags().StringArrayP("bind", "B", nil, "")
		command.Flags().BoolP("userns", "u", false, "")
		out[strings.Join(words, "_")] = command
	}
	return out
}

// Check registers an adapter's plugin on such commands; bindControl changes the runtime's configuration.
func Check(t *testing.T, register func(map[string]*cobra.Command), bindControl func(allowed bool)) {
	t.Helper()
	t.Setenv("APPTAINERENV_MPIIMPORT", "")
	t.Setenv("SINGULARITYENV_MPIIMPORT", "")
	var words, binds []string
	commands := Commands(func(command *cobra.Command, args []string) {
		words = args
		binds, _ = command.Flags().GetStringArray("bind")
	})
	register(commands)
	for name, command := range commands {
		if !strings.Contains(command.Flags().FlagUsages(), "--mpiimport string") {
			t.Errorf("%s: the flag is not in --help", name)
		}
	}
	exec := commands["exec"]
	run(t, exec, "-B", "/a", "img", "python", "a.py")
	if got := strings.Join(words, " "); got != "img python a.py" || len(binds) != 1 {
		t.Errorf("without the flag: %s %s", got, binds)
	}
	run(t, exec, "--mpiimport", "img", "python", "a.py")
	if got := strings.Join(words, " "); got != "img python a.py" || len(binds) != 2 {
		t.Errorf("with the flag: %s %s", got, binds)
	}
	if os.Getenv("APPTAINERENV_MPIIMPORT")+os.Getenv("SINGULARITYENV_MPIIMPORT") != "1" {
		t.Error("one runtime's environment carries the plan")
	}
	bindControl(false)
	run(t, exec, "--mpiimport", "img", "python", "a.py")
	if got := strings.Join(words, " "); got != "img python a.py" {
		t.Errorf("where binds are forbidden: %s", got)
	}
}

func run(t *testing.T, command *cobra.Command, words ...string) {
	t.Helper()
	command.SetArgs(words)
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
}
