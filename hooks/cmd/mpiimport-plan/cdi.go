package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"mpiimport.org/hooks/internal/entrypoints/cdi"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/publish"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// cdiFile is what the options say of a CDI specification to be written.
type cdiFile struct {
	all    *bool
	shm    *string
	output *string
}

func cdiFlags(flags *flag.FlagSet) cdiFile {
	return cdiFile{
		all:    flags.Bool("all", false, "a device for every profile that can be named"),
		shm:    flags.String("shm", string(launch.ShmPrivate), "what /dev/shm is in the containers"),
		output: flags.String("output", "", "the file to write; standard output by default"),
	}
}

func (f cdiFile) write(name, installed string, userns bool) error {
	shm := launch.Shm(*f.shm)
	if shm == "host" {
		shm = launch.ShmHost
	} else if shm != launch.ShmNoExec && shm != launch.ShmPrivate {
		return fmt.Errorf("--shm is %q; write host, noexec or private", *f.shm)
	}
	directories := profile.Directories(installed, os.Environ())
	names := []string{name}
	if *f.all {
		names = profile.Names(directories)
		if !slices.Contains(names, profile.DefaultName) {
			names = append(names, profile.DefaultName)
		}
	}
	devices := []specs.Device{}
	for _, name := range names {
		device, err := cdiDevice(name, directories, launch.Request{
			Prefix: installed, UserNamespace: userns, Environ: switchOnly(os.Environ()), Shm: shm,
		}.OnThisHost())
		if err != nil && !*f.all {
			return err
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "mpiimport-plan: no device for", name+":", err)
			continue
		}
		devices = append(devices, device)
	}
	text, err := cdi.Format(devices)
	if err != nil {
		return err
	}
	if *f.output == "" {
		_, err = os.Stdout.Write(text)
		return err
	}
	if err := publish.File(*f.output, text); err != nil {
		return fmt.Errorf("cannot write the CDI specification: %w", err)
	}
	return nil
}

func cdiDevice(name string, directories []string, r launch.Request) (specs.Device, error) {
	chosen, err := profile.Load(name, directories)
	if err != nil {
		return specs.Device{}, err
	}
	if len(profile.Parts(chosen.Name)) > 1 {
		return specs.Device{}, fmt.Errorf("a device cannot have the name %s; write a profile that extends these, and make a device of it", chosen.Name)
	}
	if chosen, err = chosen.ForAll(); err != nil {
		return specs.Device{}, err
	}
	plan, err := launch.Resolve(chosen, r)
	if err != nil {
		return specs.Device{}, err
	}
	return cdi.Device(plan)
}

// switchOnly leaves what a device for everybody may take from the environment of the one who writes it.
func switchOnly(env []string) []string {
	mode, _ := environ.Get(env, ourvars.Mode)
	return environ.Set(nil, ourvars.Mode, mode)
}
