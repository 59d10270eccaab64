"""What only root executes: resolving the manifest and reading the payload."""
