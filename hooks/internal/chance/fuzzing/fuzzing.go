// Package fuzzing makes a fuzz test of a check that builds its own input. What the check chooses comes from bytes: those
// of seeds 0, 1, 2 ... at each run of the tests, and those that Go's own fuzzing finds under `go test -fuzz`. Go keeps
// what fails under testdata/fuzz, and tries it ever after.
package fuzzing

import (
	"encoding/json"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

const (
	// Cases is the variable that says how many seeds are tried; `make test-full` tries 10,000.
	Cases = "FUZZ_CASES"
	// Output is the variable that names a directory for what checks hand over to tests in Python.
	Output = "FUZZ_OUTPUT"

	casesAtEachRun = 200
	bytesOfASeed   = 2048
)

// Run tries check on many cases. It says of each whether the case got past the first refusal: where hardly any does, the
// cases show nothing, and that is a failure, too.
func Run(f *testing.F, check func(t *testing.T, chance *Chance) bool) {
	f.Helper()
	count := casesAtEachRun
	if text, given := os.LookupEnv(Cases); given {
		var err error
		if count, err = strconv.Atoi(text); err != nil || count < 1 {
			f.Fatalf("%s is %q; write a number of cases", Cases, text)
		}
	}
	for seed := range count {
		content := make([]byte, bytesOfASeed)
		rand.New(rand.NewSource(int64(seed))).Read(content)
		f.Add(content)
	}
	tried, telling := 0, 0
	f.Fuzz(func(t *testing.T, content []byte) {
		tried++
		if check(t, &Chance{content}) {
			telling++
		}
	})
	if tried >= count && telling < tried/10 {
		f.Errorf("only %d of %d cases got past the first refusal", telling, tried)
	}
}

// Chance is where a check's choices come from. When the bytes are used up it chooses the first of everything, and what is
// yes once in n times is no. So a loop may go on while it is yes, not while it is no.
type Chance struct{ rest []byte }

func (c *Chance) next() int {
	if len(c.rest) == 0 {
		return 0
	}
	value := c.rest[0]
	c.rest = c.rest[1:]
	return int(value)
}

// Below returns a number from 0 to n-1.
func (c *Chance) Below(n int) int {
	value := c.next()
	if n > 256 {
		value = value<<8 | c.next()
	}
	return value % n
}

// In says yes once in n times.
func (c *Chance) In(n int) bool { return c.Below(n) == n-1 }

// Text returns up to longest bytes: of all values, those often that mean something to shells, YAML and JSON. NUL is none
// of them, for no argument and no variable can hold it.
func (c *Chance) Text(longest int) string {
	const telling = "$`\"'\\{}:=,;\n\t *?[]()-_/.#%&!|~0aZ"
	out := make([]byte, c.Below(longest+1))
	for i := range out {
		if c.In(3) {
			out[i] = byte(1 + c.Below(255))
		} else {
			out[i] = telling[c.Below(len(telling))]
		}
	}
	return string(out)
}

// One returns one of some values.
func One[T any](c *Chance, values ...T) T { return values[c.Below(len(values))] }

var writing sync.Mutex

// HandOver adds a value, as a line of JSON, to the file of this name where a test in Python wants it.
func HandOver(t *testing.T, name string, value any) {
	t.Helper()
	directory, wanted := os.LookupEnv(Output)
	if !wanted {
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	writing.Lock()
	defer writing.Unlock()
	file, err := os.OpenFile(filepath.Join(directory, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
}
