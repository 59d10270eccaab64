"""The subcommands of ``mpiimport``: a file for each."""
