"""OpenSHMEM started by us, in the place of MPI: what moves between ranks, and how a program's own use of it ends."""
