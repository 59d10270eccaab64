#!/usr/bin/env bash
# Unpacks PyPI's Intel MPI and prints its directory (last line of stdout), which may be bound into any image.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly PACKAGE=impi-rt==2021.19.0

main() {
    local cache directory
    [ "$(uname -m)" = x86_64 ] || die "$EXIT_CANNOT" "Intel MPI is for x86_64"
    cache=$(cache_dir)
    directory=$cache/intel-mpi-$(content_key "$PACKAGE")
    lock_cache intel-mpi
    if [ ! -d "$directory" ]; then
        rm -rf "$directory.partial"
        fetch_wheels "$cache/wheels" "$PACKAGE"
        # Alone: the libfabric it asks for is not to be had, and ranks on one node need none.
        "$(pip_python)" -m pip install -q --no-index --no-deps --find-links "$cache/wheels" --prefix "$directory.partial" \
            --ignore-installed "$PACKAGE" </dev/null >&2 || die 1 "pip could not install $PACKAGE into $directory"
        mv "$directory.partial" "$directory"
    fi
    printf '%s\n' "$directory"
}

main "$@"
