"""MPI: started by us, given to the program, and ended as without us."""
