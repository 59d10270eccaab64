#!/usr/bin/env bash
# Installs Debian's Chromium, with a font for it to write with, and prints its path (last line of stdout).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    local found
    if ! found=$(command -v chromium); then
        is_debian || die "$EXIT_CANNOT" "there is no chromium on PATH, and this is not Debian"
        apt_ensure chromium fonts-dejavu-core
        found=$(command -v chromium) || die 1 "Debian's package chromium brought no program of that name"
    fi
    printf '%s\n' "$found"
}

main "$@"
