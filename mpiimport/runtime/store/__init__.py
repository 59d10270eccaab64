"""The payload on one node: where it lies, how it gets there, and what the ranks of the node add."""
