package entry

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
)

// stamp adds to the environment of a rank of which a report is wanted what its clocks show now, so that the report
// can tell the start of the container's process from the start of python: the real time, the time it had on a core,
// and the time that this thread, which is to execute the command, waited for one; nanoseconds, between spaces.
func stamp(env []string) []string {
	env = environ.Unset(env, ourvars.Started)
	report, _ := environ.Get(env, ourvars.Report)
	pid, _ := environ.Get(env, ourvars.Pid)
	if report == "" || pid != strconv.Itoa(os.Getpid()) {
		return env
	}
	runtime.LockOSThread()
	waited := "0"
	if text, err := os.ReadFile("/proc/thread-self/schedstat"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			waited = fields[1]
		}
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return env
	}
	own := used.Utime.Nano() + used.Stime.Nano()
	return environ.Set(env, ourvars.Started, fmt.Sprintf("%d %d %s", time.Now().UnixNano(), own, waited))
}
