package fitting

import (
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/handover"
)

func TestAnImageIsRefusedOnlyForWhatItsCLibraryLacks(t *testing.T) {
	has := []string{"GLIBC_2.17", "GLIBC_2.36"}
	for name, c := range map[string]struct {
		said    string
		has     []string
		refused string
	}{
		"what it has":             {"GLIBC_2.17 /opt/mpi", has, ""},
		"what it lacks":           {"GLIBC_2.38 /opt/mpi", has, "/opt/mpi of this host needs GLIBC_2.38 of libc.so.6, and the image's has at most GLIBC_2.36"},
		"one of two":              {"GLIBC_ABI_DT_RELR:GLIBC_2.36 /opt/mpi", has, "needs GLIBC_ABI_DT_RELR"},
		"its library is not seen": {"GLIBC_2.38 /opt/mpi", nil, ""},
		"nothing was said":        {"", has, ""},
	} {
		env, err := check([]string{"A=1", handover.Glibc + "=" + c.said}, c.has)
		if c.refused == "" && (err != nil || !slices.Equal(env, []string{"A=1"})) {
			t.Errorf("%s: %v, %q", name, err, env)
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
