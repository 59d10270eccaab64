"""What tests, benchmarks and the demonstration use: a simulated cluster, ranks launched in it, system calls counted."""
