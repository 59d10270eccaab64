// Package plugin is what the plugins of Apptainer and SingularityCE share: the flag on the commands that start
// containers, and what it does there.
package plugin

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mpiimport.org/hooks/containerstart"
	"mpiimport.org/hooks/internal/entrypoints/runtimes"
	"mpiimport.org/hooks/internal/leaves/prefix"
)

// What the runtimes are told of the plugin and its flag.
const (
	Name        = "mpiimport.org/plugin"
	Author      = "the mpiimport authors"
	Description = "adds --mpiimport to the commands that start containers"
	FlagID      = "mpiimportFlag"
)

// EnvKeys are the variables, after the runtime's own prefix, that stand for the flag.
var EnvKeys = []string{"MPIIMPORT"}

// Runtime is the program that has loaded the plugin.
type Runtime struct {
	Flavour string                                          // apptainer or singularityce
	Prefix  string                                          // where mpiimport was installed when the plugin was compiled
	Config  func() map[string]string                        // the directives of the configuration in force; nil where it is not known
	Command func(group string) *cobra.Command               // finds a subcommand by its words, joined by _
	Flag    func(value *string, commands ...*cobra.Command) // adds the flag, and the variables that stand for it
}

// usageStatus is the exit status after a mistake in what was asked for, as the shim's.
const usageStatus = 2

// Register adds the flag to the commands. A runtime that is not built as this plugin expects keeps its commands as
// they are, and one line says so.
func Register(r Runtime) {
	if err := r.register(); err != nil {
		fmt.Fprintf(os.Stderr, "mpiimport: the plugin does nothing: %v; compile it anew for this %s, or use PREFIX/shim\n", err, r.Flavour)
	}
}

func (r Runtime) register() (err error) {
	// What a plugin lets escape would end every command of the runtime.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	commands := make([]*cobra.Command, len(containerstart.Actions))
	for i, action := range containerstart.Actions {
		command := r.Command(strings.ReplaceAll(action, " ", "_"))
		switch {
		case command == nil || command.Run == nil:
			return fmt.Errorf("there is no command %q", action)
		case command.Flags().Lookup("bind") == nil:
			return fmt.Errorf("the command %q has no option --bind", action)
		case command.Flags().Lookup(containerstart.Flag) != nil:
			return fmt.Errorf("the command %q has an option --%s already", action, containerstart.Flag)
		}
		commands[i] = command
	}
	value := ""
	r.Flag(&value, commands...)
	for i, command := range commands {
		flag := command.Flags().Lookup(containerstart.Flag)
		if flag == nil {
			return fmt.Errorf("the option --%s was not accepted", containerstart.Flag)
		}
		flag.NoOptDefVal = "1"
		command.Run = r.wrap(containerstart.Actions[i], command.Run)
	}
	return nil
}

// wrap returns what the command runs instead of inner.
func (r Runtime) wrap(action string, inner func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(command *cobra.Command, words []string) {
		call := r.call(action, command, words)
		out, err := call.Decide()
		if err != nil {
			fmt.Fprintln(os.Stderr, "mpiimport:", err)
			os.Exit(usageStatus)
		}
		for _, line := range out.LeftOut {
			fmt.Fprintln(os.Stderr, line)
		}
		if out.PerNode && out.Note == "" {
			out.Note = containerstart.NotShared(call.Env, "the plugin is part of a start that is under way; PREFIX/shim can share one")
		}
		if out.Note != "" {
			fmt.Fprintln(os.Stderr, out.Note)
		}
		// In a user namespace that the runtime makes for itself it starts once more, with the environment as it is left here.
		setEnvironment(call.Env, out.Env)
		for _, option := range out.Options {
			name, value := containerstart.SplitOption(option)
			add(command.Flags().Lookup(name), value)
		}
		for _, bind := range out.Binds {
			add(command.Flags().Lookup("bind"), bind)
		}
		inner(command, slices.Concat(words[:len(words)-len(call.Command)], out.Command))
	}
}

// call reads what cobra has found; the runtime has put its variables into the flags by then.
func (r Runtime) call(action string, command *cobra.Command, words []string) containerstart.Call {
	call := containerstart.Call{
		Action: action, Options: map[string]string{},
		Env: os.Environ(), Prefix: r.Prefix, Facts: r.facts(), Root: os.Geteuid() == 0,
		Takes: func(option string) (takes, known bool) {
			flag := command.Flags().Lookup(option)
			return flag != nil && flag.NoOptDefVal == "", flag != nil
		},
	}
	if len(words) > 0 {
		call.Image = words[0]
	}
	if own := containerstart.CommandAt(action); len(words) > own {
		call.Command = words[own:]
	}
	// Not Visit: it leaves out flags that the runtime's variables have set.
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			call.Options[flag.Name] = flag.Value.String()
		}
	})
	call.Words = given(command.Flags())
	for _, name := range []string{"verbose", "debug"} {
		if global := command.Root().PersistentFlags().Lookup(name); global != nil && global.Value.String() == "true" {
			call.Verbose = true
		}
	}
	call.Value, call.Asked = call.Options[containerstart.Flag], command.Flags().Lookup(containerstart.Flag).Changed
	return call
}

// given returns the options of the command line.
func given(flags *pflag.FlagSet) []string {
	values := map[string][]string{}
	flags.Visit(func(flag *pflag.Flag) {
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values[flag.Name] = list.GetSlice()
		} else if flag.Name != containerstart.Flag {
			values[flag.Name] = []string{flag.Value.String()}
		}
	})
	return containerstart.Words(values)
}

// facts joins what was recorded of this program with the configuration in force. A record that cannot be read says nothing.
func (r Runtime) facts() containerstart.Facts {
	recorded, _ := runtimes.Read(prefix.LaunchFile(r.Prefix))
	self, _ := os.Executable()
	facts := recorded[self]
	if config := r.Config(); config != nil {
		facts = facts.Configured(config)
	}
	facts.Flavour = r.Flavour
	return facts
}

// add sets an option that the caller has not set; an option that holds a list gets one more element, once.
func add(flag *pflag.Flag, value string) {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		if slices.Contains(list.GetSlice(), value) {
			return
		}
	} else if flag.Changed {
		return
	}
	if err := flag.Value.Set(value); err != nil {
		fmt.Fprintf(os.Stderr, "mpiimport: --%s=%s: %v; mend container.options in the profile\n", flag.Name, value, err)
		os.Exit(usageStatus)
	}
	flag.Changed = true
}

// setEnvironment makes this process's environment, which is old, the new one.
func setEnvironment(old, new []string) {
	there, kept := map[string]bool{}, map[string]bool{}
	for _, entry := range old {
		there[entry] = true
	}
	for _, entry := range new {
		name, value, _ := strings.Cut(entry, "=")
		kept[name] = true
		if !there[entry] {
			os.Setenv(name, value)
		}
	}
	for _, entry := range old {
		if name, _, _ := strings.Cut(entry, "="); !kept[name] {
			os.Unsetenv(name)
		}
	}
}
