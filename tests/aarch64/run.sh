#!/usr/bin/env bash
# tests/aarch64/run.sh TARBALL DIR [TESTS...]   installs a tarball for aarch64 in a Debian for it, and runs tests there
# by qemu: in user mode, and in virtual machines whose pages have 4 and 64 KiB. TESTS: more of them, for the machines, or
# options of pytest's: `-m ""` has all packages, two hours. What is written lies below DIR, and each output in DIR/KIND.log.
set -euo pipefail
cd "$(dirname "$0")/../.."
tarball=$1 place=$2
shift 2

# What knows the formats of this processor's files, and the rank path with two ranks: for more, MPICH reads another process's
# memory, which qemu's user mode cannot.
readonly ELF=tests/unit/test_shared_object.py
readonly BY_QEMU=(
    tests/unit/test_{index,ldcache,libraries_that_fit,library_needs,memory,signed_addresses}.py
    "$ELF"::test_{needs_and_search_paths_are_those_that_readelf_prints,constants_hold_the_strings_of_read_only_data}
    tests/mpi/test_programs.py
)
readonly PROMISES=tests/aarch64/promises.py
readonly IN_MACHINES=(tests/mpi/test_programs.py::test_verbose_says_how_each_module_was_imported "$PROMISES"
    tests/aarch64/packages.py "$@")

# The machine's Python of the tests, and a prefix where make would have laid it out.
install() {
    local files=$place/installed/files
    mkdir -p "$files/src"
    git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- -cf - | tar -C "$files/src" -xf -
    cp "$tarball" "$files/src/tarball.tar.gz"
    # shellcheck disable=SC2016  # the words are expanded there
    lab/aarch64.sh user "$place/installed" sh -euc '
        tar -xf tarball.tar.gz -C /tmp
        /tmp/mpiimport-*-linux-aarch64/install.sh build/prefix
        touch build/prefix/ready
        rm tarball.tar.gz
        export PATH=/opt/mpi/mpich/bin:$PATH MPI4PY_LIBMPI=/opt/mpi/mpich/lib/libmpi.so.12
        build/prefix/bin/mpiimport doctor --python /opt/venv/bin/python'
}

# run_tests KIND TESTS...
run_tests() {
    local kind=$1 began=$SECONDS status=0
    shift
    BELOW=$place/installed timeout -k 10 3000 lab/aarch64.sh "$kind" "$place/$kind" \
        env LAB_PATIENCE=20 /opt/venv/bin/python -m pytest -m "not full" -p no:cacheprovider -v --color=no --durations=20 \
        "$@" >"$place/$kind.log" 2>&1 || status=$?
    grep -aE '^(SKIPPED|FAILED|ERROR)|^=.* in [0-9.]+s' "$place/$kind.log" || true
    printf 'make test-aarch64: %s: %s, in %d s: %s\n' "$kind" "$( ((status)) && echo failed || echo passed)" \
        "$((SECONDS - began))" "$place/$kind.log"
    return "$status"
}

# The second one finds what the first one has left.
in_machines() {
    local status=0
    run_tests 4 "${IN_MACHINES[@]}" --deselect \
        "$PROMISES::test_what_pages_of_another_size_have_left_is_not_used" || status=1
    mkdir -p "$place/64/files"
    cp -a "$place/4/files/left" "$place/64/files"
    run_tests 64 "${IN_MACHINES[@]}" || status=1
    return "$status"
}

rm -rf "$place"
mkdir -p "$place"
install
in_machines &
machines=$! status=0
run_tests user "${BY_QEMU[@]}" || status=1
wait "$machines" || status=1
exit "$status"
