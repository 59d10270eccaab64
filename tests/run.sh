#!/usr/bin/env bash
# tests/run.sh PYTHON [PYTEST'S OPTIONS...]: all tests. As root in three parts at the same time, for most keep one core busy,
# or wait: two of them have a /tmp and a /dev/shm of their own, in which they see nothing of what the others leave there.
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

places=() parts=() logs=()
# Begins a part: its log, then its directories and pytest's options.
begin_apart() {
    local log=$1 place
    shift
    place=$(mktemp -d /var/tmp/mpiimport-tests-XXXXXXXX)
    # A shell has what it starts in the background ignore interrupts. The words of the inner shell are expanded there.
    # shellcheck disable=SC2016
    env --default-signal=INT unshare --mount --propagation private bash -euc '
        chmod 1777 "$0"
        mount -t tmpfs -o mode=1777 none /dev/shm
        mount --bind "$0" /tmp
        exec "$@"' "$place" "$python" -m pytest "$@" >"$log" 2>&1 &
    parts+=($!) places+=("$place") logs+=("$log")
}

trap 'kill "${parts[@]}" 2>/dev/null || true; wait; rm -rf "${places[@]}"' EXIT
begin_apart build/tests-snapshots.log "$@" tests/snapshots
begin_apart build/tests-mpi.log "$@" tests/mpi tests/random_input tests/random_programs tests/unit
status=0
"$python" -m pytest "$@" tests/cluster tests/containers tests/installed tests/suites || status=$?
for part in "${!parts[@]}"; do
    ended=0
    wait "${parts[$part]}" || ended=$?
    cat "${logs[$part]}"
    status=$((status > ended ? status : ended))
done
exit "$status"
