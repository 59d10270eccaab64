"""What benchmarks measure with: ways to start a job, containers, seconds and operations, the machine."""
