package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mpiimport.org/hooks/internal/entrypoints/released"
	"mpiimport.org/hooks/profile"
)

// release adds profiles to those that the OCI hook serves, all of them or none.
func release(installed string, names []string, writable, keep bool) error {
	list, err := released.Read(installed)
	if err != nil {
		return err
	}
	for _, name := range names {
		if len(profile.Parts(name)) > 1 {
			return fmt.Errorf("%s are several profiles; release each by its name, and the hook serves them together, too", name)
		}
		chosen, err := profile.LoadTrusted(name, installed)
		if err != nil {
			return err
		}
		if _, err := chosen.ForAll(); err != nil {
			return err
		}
		sources := released.Writable(chosen)
		if len(sources) > 0 && !writable {
			return fmt.Errorf("the profile %s lets containers write to %s, and any image or pod that names the profile gets that; add --writable if it is meant",
				name, strings.Join(sources, ", "))
		}
		list[name] = released.Terms{Writable: sources, Keep: keep}
	}
	if len(names) > 0 {
		if err := list.Write(installed); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		terms := slices.Clone(list[name].Writable)
		if list[name].Keep {
			terms = append(terms, "--cache")
		}
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%-12s %s", name, strings.Join(terms, " "))))
	}
	return nil
}

func withdraw(installed string, names []string) error {
	list, err := released.Read(installed)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("withdraw: no profile named\n%s", usage)
	}
	for _, name := range names {
		if _, ok := list[name]; !ok {
			return fmt.Errorf("the profile %q is not released; `mpiimport-plan release` prints which are", name)
		}
		delete(list, name)
	}
	return list.Write(installed)
}
