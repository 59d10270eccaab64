"""How bytes move between ranks. One module per transport, all with the interface of ``mpi.Transport``."""
