#!/usr/bin/env bash
# tests/aarch64/run.sh TARBALL DIR   installs a tarball for aarch64 in a Debian for it, and runs these tests there by qemu: in user
# mode, and in virtual machines whose pages have 4 and 64 KiB. What they write lies below DIR, each output in DIR/KIND.log.
set -euo pipefail
cd "$(dirname "$0")/../.."
tarball=$1 place=$2

# What qemu's user mode leaves to see, for it has neither all system calls nor signals, /proc and memory as a kernel has them.
readonly BY_QEMU=(tests/unit tests/mpi/test_programs.py tests/mpi/test_broadcast.py)
readonly IN_MACHINES=(
    "tests/snapshots/test_ranks.py::test_ranks_start_from_what_one_rank_has_prepared[mpich-2]"
    "tests/snapshots/test_ranks.py::test_ranks_start_from_what_one_rank_has_prepared[mpich-16]"
    tests/snapshots/test_many_starts.py::test_200_starts_with_random_addresses
    tests/snapshots/test_starts_from_a_library.py
    tests/snapshots/test_packages.py::test_what_is_a_processs_own_is_its_own
)

# The machine's Python of the tests, and a prefix where make would have laid it out.
install() {
    local files=$place/installed/files
    mkdir -p "$files/src"
    git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- -cf - | tar -C "$files/src" -xf -
    cp "$tarball" "$files/src/tarball.tar.gz"
    lab/aarch64.sh user "$place/installed" sh -euc '
        tar -xf tarball.tar.gz -C /tmp
        /tmp/mpiimport-*-linux-aarch64/install.sh build/prefix
        touch build/prefix/ready
        rm tarball.tar.gz
        PATH=/opt/mpi/mpich/bin:$PATH build/prefix/bin/mpiimport doctor --python /opt/venv/bin/python'
}

# run_tests KIND TESTS...
run_tests() {
    local kind=$1 began=$SECONDS status=0
    shift
    BELOW=$place/installed timeout -k 10 900 lab/aarch64.sh "$kind" "$place/$kind" \
        /opt/venv/bin/python -m pytest -p no:cacheprovider -rfEs "$@" >"$place/$kind.log" 2>&1 || status=$?
    printf 'make test-aarch64: %s: %s, in %d s: %s\n' "$kind" "$( ((status)) && echo failed || echo passed)" \
        "$((SECONDS - began))" "$place/$kind.log"
    return "$status"
}

# A snapshot of the first machine is there for the second one.
in_machines() {
    local status=0
    run_tests 4 "${IN_MACHINES[@]}" tests/aarch64/pages.py::test_a_snapshot_is_left || status=1
    mkdir -p "$place/64/files"
    cp -a "$place/4/files/left" "$place/64/files"
    run_tests 64 "${IN_MACHINES[@]}" tests/aarch64/pages.py::test_what_pages_of_another_size_have_left_is_refused || status=1
    return "$status"
}

rm -rf "$place"
mkdir -p "$place"
install
status=0
in_machines &
run_tests user "${BY_QEMU[@]}" || status=1
wait "$!" || status=1
exit "$status"
