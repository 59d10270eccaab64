#!/usr/bin/env bash
# Installs the tools that read .rpm files.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

is_debian || die "$EXIT_CANNOT" "this is not Debian: rpm is installed from its package"
apt_ensure rpm
