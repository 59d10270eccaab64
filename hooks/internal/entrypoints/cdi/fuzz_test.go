package cdi

import (
	"testing"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/internal/chance/randomprofile"
	"mpiimport.org/hooks/launch"
)

// A profile becomes a device, or says which variable it cannot be one for. What CDI's own library says of the devices, a
// test in Python asks.
func FuzzDevices(f *testing.F) {
	fuzzing.Run(f, func(t *testing.T, chance *fuzzing.Chance) bool {
		p, err := randomprofile.Parse(t, randomprofile.Text(chance))
		if err != nil {
			return false
		}
		plan, err := launch.Resolve(p, launch.Request{
			Prefix: "/sw/mpiimport", UserNamespace: true, Shm: fuzzing.One(chance, launch.ShmHost, launch.ShmNoExec, launch.ShmPrivate),
			Exists: func(string) bool { return true }, IsDevice: func(string) bool { return true },
			Glob: func(pattern string) ([]string, error) { return []string{pattern}, nil },
		})
		if err != nil {
			return false // a mount that covers ours
		}
		device, err := Device(plan)
		if err != nil {
			return false
		}
		text, err := Format([]specs.Device{device})
		if err != nil {
			t.Fatal(err)
		}
		fuzzing.HandOver(t, "devices", map[string][]byte{"specification": text})
		return true
	})
}
