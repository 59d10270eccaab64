#!/usr/bin/env bash
# What launchers take for ssh: runs a command line on a node of the simulated cluster.
#
# usage: rsh.sh [OPTION...] NODE WORD...   from where the nodes are registered
set -euo pipefail
run=$(cd "$(dirname "$0")" && pwd)

while [[ $1 == -* ]]; do
    # The options of ssh that have a word of their own.
    case $1 in -[lpio]) shift ;; esac
    shift
done
node=$1
shift
[ -r "$run/$node" ] || { echo "rsh.sh: there is no node '$node'" >&2; exit 255; }
# As ssh does: the words are a line for the shell there, and not started where the caller is.
exec nsenter --target "$(<"$run/$node")" --mount --net --uts --ipc --wdns=/ -- bash -c "$*"
