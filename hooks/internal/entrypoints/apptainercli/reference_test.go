package apptainercli

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/chance/fuzzing"
)

// found is what the library that the runtimes are built with makes of a command line.
type found struct {
	action  string
	asked   bool
	value   string
	image   string
	command []string
}

// reference reads a command line with cobra; nothing is found where it refuses the line or only shows help.
func reference(args []string) *found {
	var out *found
	root := &cobra.Command{Use: "apptainer", TraverseChildren: true, SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
	declare(root.Flags(), globals)
	instance := &cobra.Command{Use: "instance", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(instance, &cobra.Command{Use: "pull", Run: func(*cobra.Command, []string) {}})
	for _, action := range containerstart.Actions {
		parent, words := root, strings.Fields(action)
		if len(words) == 2 {
			parent = instance
		}
		own := containerstart.CommandAt(action)
		parent.AddCommand(actionCommand(words[len(words)-1], own, func(flags *pflag.FlagSet, words []string) {
			out = &found{action: action, asked: flags.Changed(containerstart.Flag), image: words[0], command: words[own:]}
			out.value, _ = flags.GetString(containerstart.Flag)
		}))
	}
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	if root.Execute() != nil {
		return nil
	}
	return out
}

func actionCommand(name string, own int, run func(*pflag.FlagSet, []string)) *cobra.Command {
	command := &cobra.Command{
		Use: name, TraverseChildren: true, Args: cobra.MinimumNArgs(own),
		Run: func(command *cobra.Command, words []string) { run(command.Flags(), words) },
	}
	declare(command.Flags(), actions)
	command.Flags().String(containerstart.Flag, "", "")
	command.Flags().Lookup(containerstart.Flag).NoOptDefVal = "1"
	return command
}

func declare(flags *pflag.FlagSet, table optionTable) {
	flags.SetInterspersed(false)
	letter := map[string]string{}
	for l, name := range table.letters {
		letter[name] = string(l)
	}
	for name, takes := range table.value {
		if name == "help" {
			continue // cobra's own
		}
		if takes {
			flags.StringArrayP(name, letter[name], nil, "")
		} else {
			flags.BoolP(name, letter[name], false, "")
		}
	}
}

// pieces are what random command lines are made of.
var pieces = []string{
	"exec", "run", "shell", "test", "instance", "start", "pull", "img.sif", "docker://a/b", "python", "app.py", "name", "-",
	"--", "-B", "/a:/b", "-B/a", "-B=/a", "--bind", "--bind=/x", "-ec", "-eB", "-ueB", "-u=false", "--nv", "--nv=false", "--env", "A=b", "-H",
	"--mpiimport", "--mpiimport=site", "--mpiimport=", "--pid-file", "--writable", "-w", "-s", "/bin/sh", "-d", "--debug", "-q",
	"-c", "--config", "--config=/c", "", "-h", "--no-mount=tmp", "--dmtcp-launch", "-W", "-o", "x,y",
}

// compare fails where both readers understand a line and take it for different things. It says whether they do understand it.
func compare(t *testing.T, args []string) bool {
	t.Helper()
	want, got := reference(args), Parse(args)
	if want == nil || got.options["help"] != "" {
		return false
	}
	if got.Action == "" && slices.Contains(args, "--") {
		// Nobody writes `apptainer -- exec`; such a line is passed on as it is.
		return false
	}
	have := found{got.Action, got.Asked, got.Value, got.Image(), got.Command()}
	if want.value == "1" {
		want.value = "" // what pflag puts in for a flag without a value
	}
	if len(have.command) == 0 && len(want.command) == 0 {
		have.command, want.command = nil, nil
	}
	if got.Doubt != "" || !reflect.DeepEqual(have, *want) {
		t.Fatalf("%q:\n%+v, doubt %q\nthe reference: %+v", args, have, got.Doubt, *want)
	}
	edited := Parse(got.Edit([]string{"/p:/q:ro"}, slices.Concat([]string{"entry"}, got.Command())))
	if edited.Image() != want.image || !reflect.DeepEqual(edited.Command(), slices.Concat([]string{"entry"}, want.command)) {
		t.Fatalf("%q: edited %q", args, edited.Args)
	}
	return true
}

func FuzzLinesMeanWhatTheyMeanToTheRuntimes(f *testing.F) {
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		args := make([]string, 1+chance.Below(9))
		for i := range args {
			args[i] = fuzzing.One(chance, pieces...)
		}
		// Most lines name an action, or nothing would be compared.
		if !chance.In(10) {
			args = slices.Concat(strings.Fields(fuzzing.One(chance, containerstart.Actions...)), args)
		}
		return compare(t, args)
	})
}

func FuzzAgainstTheReference(f *testing.F) {
	for _, line := range []string{"exec --mpiimport img c", "-d run -B /a img", "instance start -eB /a img name", "exec -- img -- x"} {
		f.Add(strings.ReplaceAll(line, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) { compare(t, strings.Split(line, "\x00")) })
}
