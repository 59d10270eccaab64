#!/usr/bin/env bash
# Installs Debian's PostgreSQL and redis, and prints the directory of PostgreSQL's programs; lab/daemons.py starts daemons of its own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    is_debian || die "$EXIT_CANNOT" "this is not Debian: PostgreSQL and redis come from its packages"
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: PostgreSQL is started as the user that its package makes"
    apt_ensure postgresql redis-server
    local programs=(/usr/lib/postgresql/*/bin)
    printf '%s\n' "${programs[-1]}"
}

main "$@"
