#!/usr/bin/env bash
# packages.sh PYTHON LIST: makes a virtual environment of PYTHON, byte-compiled, with the packages of the LIST.txt below tests,
# and prints its directory (last line of stdout). `corpus` takes 2.7 GB.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly PINNED_FOR=3.11

make_environment() {
    local python=$1 requirements=$2 directory=$3
    lock_cache "$(basename "$requirements" .txt)"
    # Another run may have made it while this one waited.
    [ ! -e "$directory/ready" ] || return 0
    say "installing $(grep -c == "$requirements") packages"
    # In place and not renamed: the paths of a virtual environment are part of it.
    rm -rf "$directory"
    "$python" -m venv "$directory" >&2
    "$directory/bin/python" -m pip install -q --no-deps --only-binary :all: --no-compile -r "$requirements" \
        </dev/null >&2 || die 1 "pip could not install the packages of $requirements; see its message above"
    # Templates do not compile, and nothing here runs the packages' own tests.
    env -u PYTHONDONTWRITEBYTECODE "$directory/bin/python" -m compileall -q -j 0 -x '/tests?/' "$directory/lib" >/dev/null 2>&1 || true
    touch "$directory/ready"
}

main() {
    local python=$1 list=$2 requirements directory version
    requirements=$(find "$(cd "$here/../../tests" && pwd)" -name "$list.txt")
    [ -e "$requirements" ] || die 2 "there is not one list of packages $list.txt below tests"
    version=$("$python" -c 'import platform; print(platform.machine(), platform.python_version())')
    case $version in
    "x86_64 $PINNED_FOR."*) ;;
    *) die "$EXIT_CANNOT" "the packages of $list are pinned for x86_64 $PINNED_FOR, and $python is $version" ;;
    esac
    directory=$(cache_dir)/$list-$(content_key "${BASH_SOURCE[0]}" "$requirements" "$python" "$version")
    [ -e "$directory/ready" ] || make_environment "$python" "$requirements" "$directory"
    printf '%s\n' "$directory"
}

main "$@"
