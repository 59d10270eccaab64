#!/usr/bin/env bash
# Installs Debian's ch-run, the part of Charliecloud that starts containers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    is_debian || die "$EXIT_CANNOT" "this is not Debian: Charliecloud comes from its packages"
    apt_ensure charliecloud-runtime
}

main "$@"
