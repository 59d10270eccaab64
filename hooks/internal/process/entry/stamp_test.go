package entry

import (
	"fmt"
	"os"
	"testing"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

func TestTheClocksAreHandedOverOnlyWhereAReportIsWanted(t *testing.T) {
	own := fmt.Sprintf("%s=%d", ourvars.Pid, os.Getpid())
	for name, env := range map[string][]string{
		"no report":         {own, "_MPIIMPORT_STARTED=1 2 3"},
		"another's process": {"_MPIIMPORT_PID=1", "MPIIMPORT_REPORT=r", "_MPIIMPORT_STARTED=1 2 3"},
		"no rank":           {"MPIIMPORT_REPORT=r"},
	} {
		if value, ok := environ.Get(stamp(env), ourvars.Started); ok {
			t.Errorf("%s: %q", name, value)
		}
	}
	before := time.Now().UnixNano()
	value, _ := environ.Get(stamp([]string{own, "MPIIMPORT_REPORT=r"}), ourvars.Started)
	var real, used, waited int64
	if _, err := fmt.Sscanf(value, "%d %d %d", &real, &used, &waited); err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	if real < before || real > time.Now().UnixNano() || used <= 0 || waited < 0 {
		t.Errorf("%q", value)
	}
}
