#!/usr/bin/env bash
# Makes the machines that packages are tested on and prints their directory (last line of stdout):
#   DIR/modules/  Debian, its Python with venv, Environment Modules; nothing of mpiimport
#   DIR/lmod/     the same with Lmod, which cannot be beside it
#   DIR/wheels/   what pip is to find there, for there is no network: mpi4py, MPICH, and what the host commands need
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=pins.sh
. "$here/pins.sh"

readonly PACKAGES=(python3 python3-venv libstdc++6)
readonly PROJECT=$here/../../pyproject.toml

host_requirements() {
    /usr/bin/python3 -c 'import sys, tomllib
print("\n".join(tomllib.load(open(sys.argv[1], "rb"))["project"]["optional-dependencies"]["host"]))' "$PROJECT"
}

make_clean() {
    local directory=$1 work requirements
    is_debian || die "$EXIT_CANNOT" "this is not Debian: clean machines are bootstrapped from its packages"
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: clean machines are bootstrapped by a chroot"
    lock_cache clean
    # Another run may have made it while this one waited.
    [ ! -d "$directory" ] || return 0
    work=$directory.partial
    rm -rf "$cache"/clean-*.partial
    mkdir "$work"
    bootstrap "$SUITE" "$work/modules" "$cache/clean.log" "${PACKAGES[@]}" environment-modules
    bootstrap "$SUITE" "$work/lmod" "$cache/clean.log" "${PACKAGES[@]}" lmod
    mapfile -t requirements < <(host_requirements)
    say "fetching ${requirements[*]}"
    "$(pip_python)" -m pip download -q --only-binary :all: -d "$work/wheels" "$MPI4PY" "$MPICH" "${requirements[@]}" \
        </dev/null >&2 || die 1 "pip could not fetch wheels; see its message above"
    mv "$work" "$directory"
}

main() {
    local directory
    cache=$(cache_dir)
    directory=$cache/clean-$(content_key "${BASH_SOURCE[0]}" "$here/pins.sh" "$(host_requirements)")
    [ -d "$directory" ] || make_clean "$directory"
    printf '%s\n' "$directory"
}

main "$@"
