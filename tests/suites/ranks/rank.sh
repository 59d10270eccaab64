#!/usr/bin/env bash
# rank.sh DIRECTORY COMMAND...   become COMMAND in a working, temporary and home directory of this rank's own
#
# The ranks of a job run the same suite side by side, and suites write files of fixed names.
set -euo pipefail

directory=$1/${PMI_RANK:-${OMPI_COMM_WORLD_RANK:?not started as a rank}}
shift
mkdir -p "$directory"
cd "$directory"
# A snapshot is for one home.
home=${SUITE_HOME:-$directory}
mkdir -p "$home/tmp"
export TMPDIR=$home/tmp HOME=$home
exec "$@"
