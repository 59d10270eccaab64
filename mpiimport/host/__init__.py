"""What a person runs on the host: ``mpiimport bake`` and ``mpiimport manifest``. May use libraries freely."""
