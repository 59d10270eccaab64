// Command cdi_library reads specifications, one a line, as the runtimes do that use CDI's own library, and prints what that
// has against them. Its argument is a directory for files.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	file := filepath.Join(os.Args[1], "specification.json")
	for lines.Scan() {
		if err := os.WriteFile(file, lines.Bytes(), 0o644); err != nil {
			panic(err)
		}
		if _, err := cdi.ReadSpec(file, 0); err != nil {
			fmt.Printf("%v: %s\n", err, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}
