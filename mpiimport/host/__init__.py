"""What a person runs on the host, once: the subcommands of ``mpiimport``. May use libraries freely."""
