"""What the start-up of Python costs under MPI, plainly and served: see docs/benchmarks.md."""
