// Package cmdline has those names of Apptainer's package that the plugin uses.
package cmdline

import "github.com/spf13/cobra"

// Flag describes an option.
type Flag struct {
	ID           string
	Value        any
	DefaultValue any
	Name         string
	Usage        string
	EnvKeys      []string
}

// CommandManager knows the commands by their words, joined by _.
type CommandManager struct {
	Commands map[string]*cobra.Command
}

// GetCmd returns a command, nil where there is none.
func (m *CommandManager) GetCmd(name string) *cobra.Command { return m.Commands[name] }

// RegisterFlagForCmd adds an option whose value is a word.
func (m *CommandManager) RegisterFlagForCmd(flag *Flag, commands ...*cobra.Command) {
	for _, command := range commands {
		command.Flags().StringVar(flag.Value.(*string), flag.Name, flag.DefaultValue.(string), flag.Usage)
	}
}
