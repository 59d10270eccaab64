#!/usr/bin/env bash
# Installs Debian's docker and prints the path of its daemon, which is started by whoever needs it. Needs root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    local daemon
    if ! daemon=$(command -v dockerd); then
        is_debian || die "$EXIT_CANNOT" "no dockerd on PATH, and this is not Debian, so none is installed"
        apt_ensure docker.io
        daemon=/usr/sbin/dockerd
    fi
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: dockerd needs it"
    printf '%s\n' "$daemon"
}

main "$@"
