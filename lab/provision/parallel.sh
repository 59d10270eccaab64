#!/usr/bin/env bash
# Installs Debian's GNU parallel.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    is_debian || die "$EXIT_CANNOT" "this is not Debian: GNU parallel comes from its packages"
    apt_ensure parallel
}

main "$@"
