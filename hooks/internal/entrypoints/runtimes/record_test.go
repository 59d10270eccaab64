package runtimes

import (
	"math/rand"
	"os"
	"path/filepath"
	"testing"
)

const written = `runtimes:
    /usr/bin/apptainer: {flavour: apptainer, setuid: true}
    /opt/singularity/bin/singularity:
        flavour: singularityce
        no_binds: true
`

func TestTenThousandDamagedRecordsAreReadOrRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "launch.yaml")
	random := rand.New(rand.NewSource(1))
	read, refused := 0, 0
	for range 10_000 {
		text := []byte(written)
		for range 1 + random.Intn(4) {
			at := random.Intn(len(text))
			switch random.Intn(3) {
			case 0:
				text[at] = byte(random.Intn(256))
			case 1:
				text = append(text[:at:at], text[min(len(text), at+1+random.Intn(20)):]...)
			default:
				text = append(text[:at:at], append([]byte("{[&*!|>'\"%@`-: \n"[random.Intn(16):]), text[at:]...)...)
			}
			if len(text) == 0 {
				break
			}
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil {
			read++
		} else {
			refused++
		}
	}
	if read < 500 || refused < 500 {
		t.Errorf("%d were read and %d refused: the damage says little", read, refused)
	}
}
