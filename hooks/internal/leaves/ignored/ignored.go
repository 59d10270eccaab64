// Package ignored keeps those signals ignored that this process was started to ignore, and those standard files closed
// that it was started without, for what it becomes. Go's runtime puts handlers in the place of all but two, and opens
// /dev/null, so they are looked at before it runs: make names the function start as the entry point of our programs. A
// program that has another one knows of none. Go keeps for itself what the processor and its profiler signal.
package ignored

import (
	"os"
	"os/signal"
	"syscall"
)

const last = 64

// inherited has a bit for each ignored signal, from 1 on; closed has one for each standard file that is not there.
var inherited, closed uint64

func init() {
	for file := range 3 {
		if closed>>file&1 == 1 {
			syscall.CloseOnExec(file)
		}
	}
	// Without arguments it would be all signals.
	if these := Signals(); len(these) > 0 {
		signal.Ignore(these...)
	}
}

// IsClosed says whether this process was started without a standard file.
func IsClosed(file int) bool { return closed>>file&1 == 1 }

// Signals lists those that were ignored when this process was started.
func Signals() []os.Signal { return chosen(true) }

// Others lists all other signals.
func Others() []os.Signal { return chosen(false) }

func chosen(ignored bool) []os.Signal {
	out := []os.Signal{}
	for number := range last {
		if inherited>>number&1 == 1 == ignored {
			out = append(out, syscall.Signal(number+1))
		}
	}
	return out
}
