"""What `make demo` runs, and what else people look at. Nothing is recorded."""
