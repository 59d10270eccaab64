// Command mpiimport-plan shows launch plans, checks profiles and records the container runtimes of a machine.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mpiimport.org/hooks/internal/entrypoints/imageprofile"
	"mpiimport.org/hooks/internal/entrypoints/runtimes"
	_ "mpiimport.org/hooks/internal/leaves/ignored"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/version"
	"mpiimport.org/hooks/internal/process/entry"
	"mpiimport.org/hooks/internal/process/fitting"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

const usage = `usage: mpiimport-plan show [--profile P] [--userns] [--prefix DIR] [COMMAND...]   print a launch plan as JSON
       mpiimport-plan share [--profile P] [--userns] [--prefix DIR]             print a job's plan, for _MPIIMPORT_PLAN
       mpiimport-plan show --provenance [--profile P]                           print what a profile says, and which file says it, as JSON
       mpiimport-plan why [--prefix DIR]                                        print which profile is taken where none is named, and why, as JSON
       mpiimport-plan wrong [--prefix DIR]                                      print what keeps launches from the profiles that are meant for all, as JSON
       mpiimport-plan environment [--profile P]                                 print a profile's environment, NUL-separated
       mpiimport-plan apply [--prefix DIR] COMMAND...                           become the command as mpiimport-entry does, with the environment of the profile that MPIIMPORT_PROFILE names, where the image fits the MPI that is brought
       mpiimport-plan list [--prefix DIR]                                       print the known profiles
       mpiimport-plan directories [--prefix DIR]                                print where profiles are looked for: shipped, the site's, yours
       mpiimport-plan cdi [--profile P | --all] [--userns=false] [--shm host|noexec|private] [--output FILE]
                                                                                write CDI devices
       mpiimport-plan release [--writable] [--cache] [--prefix DIR] [NAME...]   let the OCI hook serve profiles; without a name, print which it serves
       mpiimport-plan withdraw [--prefix DIR] NAME...                          let it serve them no more
       mpiimport-plan check FILE...                                             check profile files
       mpiimport-plan record [--prefix DIR]                                     write PREFIX/etc/launch.yaml
       mpiimport-plan schema                                                    print the JSON Schema of profiles`

// errBrokenProfiles ends a list with status 1 after each broken profile has been named.
var errBrokenProfiles = errors.New("some profiles are broken")

func main() {
	version.Print()
	err := run(os.Args[1:])
	if errors.Is(err, errBrokenProfiles) {
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpiimport-plan:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no subcommand given\n%s", usage)
	}
	if args[0] == "--help" || args[0] == "-h" {
		fmt.Println(usage)
		return nil
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	installed := flags.String("prefix", "", "the installation; the one this binary lies in by default")
	name := flags.String("profile", os.Getenv(ourvars.Profile), "a profile's name, or a path with a slash")
	provenance := flags.Bool("provenance", false, "the profile itself instead of a plan")
	// A CDI device serves everybody on the machine, rootless podman included.
	userns := flags.Bool("userns", os.Geteuid() != 0 || args[0] == "cdi", "the container runs in a user namespace")
	devices := cdiFlags(flags)
	caches := flags.Bool("cache", false, "containers of the released profiles may keep stores in the memory of the node")
	writable := flags.Bool("writable", false, "the released profiles may mount host directories writable")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if *installed == "" {
		var err error
		if *installed, err = prefix.Of(); err != nil {
			return err
		}
	}
	switch args[0] {
	case "show":
		if *provenance {
			return showProvenance(*name, *installed)
		}
		return show(*name, *installed, *userns, flags.Args())
	case "share":
		return share(*name, *installed, *userns)
	case "environment":
		return environment(*name, *installed)
	case "apply":
		return apply(*installed, flags.Args())
	case "why":
		candidates, err := profile.Unnamed(*installed, os.Environ())
		if err != nil {
			return err
		}
		return printJSON(candidates)
	case "wrong":
		wrong, err := profile.Wrong(*installed, os.Environ())
		if err != nil {
			return err
		}
		return printJSON(wrong)
	case "list":
		return list(*installed)
	case "directories":
		fmt.Println(strings.Join(profile.Directories(*installed, os.Environ()), "\n"))
		return nil
	case "cdi":
		return devices.write(*name, *installed, *userns)
	case "release":
		return release(*installed, flags.Args(), *writable, *caches)
	case "withdraw":
		return withdraw(*installed, flags.Args())
	case "check":
		return check(*installed, flags.Args())
	case "record":
		return record(*installed)
	case "schema":
		text, err := profile.Schema()
		fmt.Print(string(text))
		return err
	}
	return fmt.Errorf("there is no subcommand %s\n%s", args[0], usage)
}

// choose returns the profile as a launch of the caller takes it, and says what is left out.
func choose(name, installed string) (*profile.Profile, error) {
	chosen, err := profile.Choose(name, installed, os.Environ())
	say(chosen.LeftOut)
	return chosen.Profile, err
}

func say(lines []string) {
	for _, line := range lines {
		fmt.Fprintln(os.Stderr, line)
	}
}

func show(name, installed string, userns bool, command []string) error {
	chosen, err := choose(name, installed)
	if err != nil {
		return err
	}
	plan, err := launch.Resolve(chosen, request(installed, userns, command))
	if err != nil {
		return err
	}
	return printJSON(plan)
}

// showProvenance prints one entry for each value, those of the base first.
func showProvenance(name, installed string) error {
	chosen, err := profile.Find(name, installed, os.Environ())
	if err != nil {
		return err
	}
	return printJSON(chosen.Said(os.Environ()))
}

func printJSON(value any) error {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(value)
}

func request(installed string, userns bool, command []string) launch.Request {
	return launch.Request{Prefix: installed, Command: command, UserNamespace: userns, Environ: os.Environ()}.OnThisHost()
}

// share prints what container starts read in _MPIIMPORT_PLAN instead of the profile.
func share(name, installed string, userns bool) error {
	chosen, err := profile.Choose(name, installed, os.Environ())
	if err != nil {
		return err
	}
	plan, err := launch.ForJob(chosen, name, request(installed, userns, nil))
	if err != nil {
		return err
	}
	if plan.Why != "" {
		return fmt.Errorf("%s, so no plan holds for a whole job; change that, or leave the profile to each start", plan.Why)
	}
	say(plan.LeftOut)
	fmt.Println(plan.Text)
	return nil
}

// environment prints the changes for a python that runs in no container: NAME=VALUE, or NAME to unset.
func environment(name, installed string) error {
	chosen, err := choose(name, installed)
	if err != nil {
		return err
	}
	changes, err := launch.HostEnvironment(chosen, os.Environ(), false)
	if err != nil {
		return err
	}
	for _, v := range changes {
		if v.Change == launch.Unset {
			fmt.Printf("%s\x00", v.Name)
		} else {
			fmt.Printf("%s=%s\x00", v.Name, v.Value)
		}
	}
	return nil
}

// apply returns only if the command was not started.
func apply(installed string, command []string) error {
	if len(command) == 0 {
		return fmt.Errorf("apply: no command given\n%s", usage)
	}
	env, err := fitting.Check(os.Environ())
	if err != nil && !rankenv.SpeaksForJob(os.Environ()) {
		os.Exit(2)
	} else if err != nil {
		return err
	}
	process := entry.Process{Prefix: installed, Pid: os.Getpid(), Env: env}
	if entry.Profiled(command, process) != nil {
		var leftOut []string
		if process.Env, leftOut, err = imageprofile.Apply(installed, env); err != nil {
			return err
		}
		say(leftOut)
	}
	command, env = entry.Start(command, process)
	entry.Exit("mpiimport-plan", entry.Execute(command, env))
	return nil
}

// list prints the sound profiles, and on standard error what is wrong with each of the others.
func list(installed string) error {
	var outcome error
	directories := profile.Directories(installed, os.Environ())
	for _, name := range profile.Names(directories) {
		p, err := profile.Load(name, directories)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mpiimport-plan: the profile %s cannot be used: %v\n", name, err)
			outcome = errBrokenProfiles
			continue
		}
		fmt.Printf("%-12s %s\n", name, p.Description)
	}
	return outcome
}

func check(installed string, files []string) error {
	for _, file := range files {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if _, err := profile.Load(absolute, profile.Directories(installed, os.Environ())); err != nil {
			return err
		}
	}
	return nil
}

func record(installed string) error {
	self, _ := os.Executable()
	file := prefix.LaunchFile(installed)
	found, err := runtimes.Finder{Prefix: installed, Self: self, Path: os.Getenv("PATH")}.Record(file)
	if err != nil {
		return err
	}
	for _, name := range runtimes.Names {
		if r, ok := found[name]; ok {
			fmt.Printf("%s: %s (%s)\n", name, r.Path, r.Facts.Flavour)
		} else {
			fmt.Printf("%s: none on PATH; the shim looks for it whenever it is called\n", name)
		}
	}
	return nil
}
