package plugin_test

import (
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mpiimport.org/hooks/plugin"
	"mpiimport.org/hooks/plugin/plugintest"
)

func addFlag(value *string, commands ...*cobra.Command) {
	for _, command := range commands {
		command.Flags().StringVar(value, "mpiimport", "", "")
	}
}

func runtime(commands map[string]*cobra.Command) plugin.Runtime {
	return plugin.Runtime{
		Flavour: "apptainer", Prefix: "/p", Config: func() map[string]string { return nil },
		Command: func(name string) *cobra.Command { return commands[name] }, Flag: addFlag,
	}
}

// stderr returns what f prints there.
func stderr(t *testing.T, f func()) string {
	t.Helper()
	old := os.Stderr
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = write
	f()
	os.Stderr = old
	write.Close()
	text, _ := io.ReadAll(read)
	return string(text)
}

func execute(t *testing.T, command *cobra.Command, words ...string) {
	t.Helper()
	command.SetArgs(words)
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
}

func TestARuntimeThatIsBuiltOtherwiseKeepsItsCommands(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[string]*cobra.Command, *plugin.Runtime)
		says   string
	}{
		"no such command": {func(c map[string]*cobra.Command, _ *plugin.Runtime) { delete(c, "instance_run") }, `no command "instance run"`},
		"runs otherwise":  {func(c map[string]*cobra.Command, _ *plugin.Runtime) { c["exec"].Run = nil }, `no command "exec"`},
		"no --bind": {func(c map[string]*cobra.Command, _ *plugin.Runtime) {
			c["test"] = &cobra.Command{Use: "test", Run: c["exec"].Run}
		}, "no option --bind"},
		"the flag is taken": {func(c map[string]*cobra.Command, _ *plugin.Runtime) { addFlag(new(string), c["shell"]) }, "has an option --mpiimport already"},
		"it panics": {func(_ map[string]*cobra.Command, r *plugin.Runtime) {
			r.Flag = func(*string, ...*cobra.Command) { panic("no flags") }
		}, "no flags"},
		"it refuses": {func(_ map[string]*cobra.Command, r *plugin.Runtime) { r.Flag = func(*string, ...*cobra.Command) {} }, "was not accepted"},
	} {
		ran := []string{}
		commands := plugintest.Commands(func(_ *cobra.Command, words []string) { ran = words })
		r := runtime(commands)
		c.change(commands, &r)
		said := stderr(t, func() { plugin.Register(r) })
		if !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 || !strings.Contains(said, "use PREFIX/shim") {
			t.Errorf("%s: %q", name, said)
		}
		t.Setenv("MPIIMPORT", "1")
		execute(t, commands["run"], "img", "word")
		if !reflect.DeepEqual(ran, []string{"img", "word"}) {
			t.Errorf("%s: ran %q", name, ran)
		}
	}
}

func TestWhatTheCommandsBecome(t *testing.T) {
	for line, c := range map[string]struct{ env, words, note string }{
		"exec --mpiimport img python":           {"", "img python", ""},
		"exec img python":                       {"MPIIMPORT=1", "img python", ""},
		"exec -u img python":                    {"MPIIMPORT=0", "img python", ""},
		"exec --mpiimport=0 img python":         {"MPIIMPORT=1", "img python", ""},
		"run --mpiimport img a":                 {"", "img a", ""},
		"test --mpiimport img":                  {"", "img", ""},
		"instance_start --mpiimport img name a": {"", "img name a", ""},
		"instance_run --mpiimport img name":     {"", "img name", ""},
		"exec --mpiimport instance://x python":  {"", "instance://x python", "running instance"},
		"exec --mpiimport img -- python":        {"", "img -- python", "hyphen"},
	} {
		t.Run(line, func(t *testing.T) {
			name, value, _ := strings.Cut(c.env, "=")
			if name != "" {
				t.Setenv(name, value)
			}
			t.Setenv("APPTAINERENV_MPIIMPORT", "")
			t.Setenv("APPTAINERENV_MPIIMPORT_PROFILE", "")
			var words, binds []string
			commands := plugintest.Commands(func(command *cobra.Command, given []string) {
				words = given
				binds, _ = command.Flags().GetStringArray("bind")
			})
			plugin.Register(runtime(commands))
			fields := strings.Fields(line)
			note := stderr(t, func() { execute(t, commands[fields[0]], fields[1:]...) })
			if strings.Join(words, " ") != c.words || (c.note == "") != (note == "") || !strings.Contains(note, c.note) {
				t.Errorf("%q %q", words, note)
			}
			accelerated := c.note == "" && c.env != "MPIIMPORT=0" && !strings.Contains(line, "--mpiimport=0")
			if mounted := reflect.DeepEqual(binds, []string{"/p:/.mpiimport:ro"}); mounted != accelerated {
				t.Errorf("binds %q", binds)
			}
			if (os.Getenv("APPTAINERENV_MPIIMPORT") == "1") != accelerated {
				t.Error("the environment does not fit")
			}
		})
	}
}

// The runtime starts itself anew, with the same words and the environment as the plugin left it.
func TestASecondStartChangesNothingMore(t *testing.T) {
	t.Setenv("PMI_RANK", "0")
	t.Setenv("APPTAINERENV_PYTHONPATH", "/mine")
	t.Setenv("APPTAINERENV_MPIIMPORT", "")
	t.Setenv("APPTAINERENV_MPIIMPORT_PROFILE", "")
	t.Setenv("APPTAINERENV__MPIIMPORT_PID", "")
	seen := [][]string{}
	for range 2 {
		commands := plugintest.Commands(func(command *cobra.Command, words []string) {
			binds, _ := command.Flags().GetStringArray("bind")
			seen = append(seen, append(append(words, binds...), os.Environ()...))
		})
		plugin.Register(runtime(commands))
		execute(t, commands["run"], "--mpiimport", "-B", "/a", "img", "x")
	}
	if !reflect.DeepEqual(seen[0], seen[1]) {
		t.Errorf("first %q\nthen %q", seen[0], seen[1])
	}
}
