#!/usr/bin/env bash
# suites.sh PYTHON   makes what the suites of tests/suites are run from and prints DIR (last line of stdout):
#   DIR/venv/      PYTHON with numpy, scipy, pandas, mpi4py, pytest and what their tests import
#   DIR/PACKAGE/   unpacked source archives, for those whose wheels bring no tests: mpi4py, importlib_metadata
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly REQUIREMENTS=$here/../../tests/suites/requirements.txt VENV=$here/../../venv.sh
# pip asks an archive for its metadata even where it is only downloaded; these answer for the two.
readonly BACKENDS=("setuptools>=77" setuptools-scm coherent.licensed cython)

fetch_source() {
    local work=$1 package=$2 requirement archive
    requirement=$(grep -ix "${package//_/[-_]}==.*" "$REQUIREMENTS")
    say "fetching the source archive of $requirement"
    "$work/backends/bin/python" -m pip download -q --no-deps --no-build-isolation --no-binary :all: -d "$work/archives" \
        "$requirement" </dev/null >&2 || die 1 "pip could not fetch the source archive of $requirement"
    archive=("$work/archives/$package"-*.tar.gz)
    mkdir "$work/$package"
    tar -xf "${archive[0]}" -C "$work/$package" --strip-components=1
}

make_suites() {
    local python=$1 work=$2
    lock_cache suites
    # Another run may have made them while this one waited.
    [ ! -f "$work/ready" ] || return 0
    # Made in place: the modules' pycs name their paths.
    rm -rf "$work"
    mkdir "$work"
    env -u PYTHONDONTWRITEBYTECODE "$VENV" "$python" "$work/venv" --no-deps -r "$REQUIREMENTS" </dev/null >&2
    "$VENV" "$python" "$work/backends" "${BACKENDS[@]}" </dev/null >&2
    fetch_source "$work" mpi4py
    fetch_source "$work" importlib_metadata
    rm -r "$work/backends" "$work/archives"
    : >"$work/ready"
}

main() {
    local python=$1 directory
    directory=$(cache_dir)/suites-$(content_key "${BASH_SOURCE[0]}" "$REQUIREMENTS" "$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')")
    [ -f "$directory/ready" ] || make_suites "$python" "$directory"
    printf '%s\n' "$directory"
}

main "$@"
