"""What `make bench` runs: each program measures one thing, and writes JSON."""
