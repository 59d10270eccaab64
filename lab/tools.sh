#!/usr/bin/env bash
# Install the tools that measurements and `make cross` need where they are missing.
set -euo pipefail

declare -A package=([strace]=strace [readelf]=binutils [runuser]=util-linux
    [aarch64-linux-gnu-gcc]=gcc-aarch64-linux-gnu)
missing=()
for tool in "${!package[@]}"; do
    command -v "$tool" >/dev/null || missing+=("${package[$tool]}")
done
((${#missing[@]})) || exit 0
if [[ ! -e /etc/debian_version || $(id -u) != 0 ]]; then
    echo "tools.sh: missing ${missing[*]}: install them, or run as root on Debian" >&2
    # Without that compiler make cross passes over C.
    [[ ${missing[*]} == gcc-aarch64-linux-gnu ]]
    exit
fi
apt-get update -qq
apt-get install -qq -y "${missing[@]}"
