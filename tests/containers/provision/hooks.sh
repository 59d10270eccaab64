#!/usr/bin/env bash
# hooks.sh PYTHON: makes a virtual environment of PYTHON, byte-compiled, with the packages of tests/corpus/hooks.txt, and
# prints its directory (last line of stdout).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly PINNED_FOR=3.11
REQUIREMENTS=$(cd "$here/../../corpus" && pwd)/hooks.txt

make_environment() {
    local python=$1 directory=$2
    lock_cache hooks
    # Another run may have made it while this one waited.
    [ ! -e "$directory/ready" ] || return 0
    say "installing $(grep -c == "$REQUIREMENTS") packages"
    # In place and not renamed: the paths of a virtual environment are part of it.
    rm -rf "$directory"
    "$python" -m venv "$directory" >&2
    "$directory/bin/python" -m pip install -q --no-deps --only-binary :all: --no-compile -r "$REQUIREMENTS" \
        </dev/null >&2 || die 1 "pip could not install the packages of $REQUIREMENTS; see its message above"
    env -u PYTHONDONTWRITEBYTECODE "$directory/bin/python" -m compileall -q -j 0 "$directory/lib" >/dev/null 2>&1 || true
    touch "$directory/ready"
}

main() {
    local python=$1 directory version
    version=$("$python" -c 'import platform; print(platform.machine(), platform.python_version())')
    case $version in
    "x86_64 $PINNED_FOR."*) ;;
    *) die "$EXIT_CANNOT" "these packages are pinned for x86_64 $PINNED_FOR, and $python is $version" ;;
    esac
    directory=$(cache_dir)/hooks-$(content_key "${BASH_SOURCE[0]}" "$REQUIREMENTS" "$python" "$version")
    [ -e "$directory/ready" ] || make_environment "$python" "$directory"
    printf '%s\n' "$directory"
}

main "$@"
