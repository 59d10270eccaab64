#!/usr/bin/env bash
# cpython_tests.sh PYTHON   ensures that PYTHON has CPython's own tests, the package `test`
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    local python=$1 found
    found=$("$python" -c 'import sys, importlib.util as u; print(u.find_spec("test.test_pkg") is not None, sys.base_prefix, "%d.%d" % sys.version_info[:2])')
    case $found in
    True*) ;;
    "False /usr "*)
        lock_cache apt
        apt_ensure "libpython${found##* }-testsuite"
        ;;
    *) die "$EXIT_CANNOT" "$python has no test package" ;;
    esac
}

main "$@"
