"""What can be seen of a machine: Pythons, launchers, container runtimes and their settings."""
