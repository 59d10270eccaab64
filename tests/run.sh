#!/usr/bin/env bash
# tests/run.sh PYTHON [PYTEST'S OPTIONS...]: all tests. As root in two halves at the same time, for most keep one core busy:
# one half has a /tmp and a /dev/shm of its own, in which it sees nothing of what the other one leaves there.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
shift
for word; do
    # Some tests are named.
    if [[ -e ${word%%::*} ]]; then exec "$python" -m pytest "$@"; fi
done
if ((EUID)) || (($(nproc) < 2)) || ! unshare --mount true; then
    exec "$python" -m pytest "$@"
fi

apart=$(mktemp -d /var/tmp/mpiimport-tests-XXXXXXXX)
log=build/tests-apart.log
# A shell has what it starts in the background ignore interrupts. The words of the inner shell are expanded there.
# shellcheck disable=SC2016
env --default-signal=INT unshare --mount --propagation private bash -euc '
    chmod 1777 "$0"
    mount -t tmpfs -o mode=1777 none /dev/shm
    mount --bind "$0" /tmp
    exec "$@"' "$apart" "$python" -m pytest "$@" tests/mpi/test_[j-z]*.py tests/snapshots >"$log" 2>&1 &
half=$!
trap 'kill "$half" 2>/dev/null || true; wait "$half" 2>/dev/null || true; rm -rf "$apart"' EXIT

status=0
"$python" -m pytest "$@" tests/cluster tests/containers tests/installed tests/mpi/test_[!j-z]*.py tests/random_input \
    tests/random_programs tests/suites tests/unit || status=$?
ended=0
wait "$half" || ended=$?
cat "$log"
exit $((status > ended ? status : ended))
