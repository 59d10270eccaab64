//go:build amd64 || arm64

package ignored

// start asks the kernel for each signal, notes the ignored ones, and goes on to the runtime's own entry point.
//
//lint:ignore U1000 The linker is told of it.
func start()
