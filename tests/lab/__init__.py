"""What tests measure with: launching ranks, counting system calls, comparing processes, and a simulated cluster."""
