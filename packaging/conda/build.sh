#!/usr/bin/env bash
# What conda-build runs in the unpacked tarball. The shim is not put on PATH, for it would hide the real runtime from
# everybody who uses the environment.
set -euo pipefail

PYTHON=${PYTHON:-$PREFIX/bin/python} ./install.sh "$PREFIX/opt/mpiimport"
mkdir -p "$PREFIX/bin"
for program in mpiimport mpiimport-plan; do
    ln -sfn "../opt/mpiimport/bin/$program" "$PREFIX/bin/$program"
done
