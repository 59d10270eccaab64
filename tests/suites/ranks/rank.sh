#!/usr/bin/env bash
# rank.sh DIRECTORY COMMAND...   become COMMAND in a working, temporary and home directory of this rank's own
#
# The ranks of a job run the same suite side by side, and suites write files of fixed names.
set -euo pipefail

directory=$1/${PMI_RANK:-${OMPI_COMM_WORLD_RANK:?not started as a rank}}
shift
mkdir -p "$directory/tmp"
cd "$directory"
export TMPDIR=$directory/tmp HOME=$directory
exec "$@"
