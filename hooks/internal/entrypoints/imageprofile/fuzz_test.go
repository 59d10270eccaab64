package imageprofile

import (
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/internal/chance/randomprofile"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/profile"
)

// In an image what is set stays, but for lists that get longer and variables that are to go; all else is not touched.
func FuzzImagesOwnProfiles(f *testing.F) {
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		text := randomprofile.Text(chance)
		config, _ := randomprofile.Install(t, text)
		env := []string{"XDG_CONFIG_HOME=" + config, "MPIIMPORT_PROFILE=" + randomprofile.Name, "NOVALUE", "=C:=x", "OTHER=" + chance.Text(20)}
		for _, name := range []string{"A", "B", "LD_LIBRARY_PATH", "site", "mpi", "PMI_RANK"} {
			if chance.In(2) {
				env = append(env, name+"="+chance.Text(9))
			}
		}
		p, err := profile.Choose(randomprofile.Name, "/p", env)
		got, _, failed := Apply("/p", env)
		if (err == nil) != (failed == nil) {
			t.Fatalf("the profile: %v; applied: %v", err, failed)
		}
		if err != nil {
			return false
		}
		for _, entry := range env {
			name, value, _ := strings.Cut(entry, "=")
			now, isSet := environ.Get(got, name)
			lists := []string{p.Environment.Append[name], p.UserNamespace.Environment.Append[name]}
			isUnset := slices.Contains(slices.Concat(p.Environment.Unset, p.UserNamespace.Environment.Unset), name)
			isLonger := value == "" && slices.Contains(lists, now) || slices.ContainsFunc(lists, func(more string) bool { return now == value+":"+more })
			if !slices.Contains(got, entry) && !(isUnset && !isSet) && !isLonger {
				t.Fatalf("%q became %q by\n%s", entry, now, text)
			}
		}
		return true
	})
}
