#!/usr/bin/env bash
# Install the tools that measurements need where they are missing: strace, readelf and runuser.
set -euo pipefail

declare -A package=([strace]=strace [readelf]=binutils [runuser]=util-linux)
missing=()
for tool in strace readelf runuser; do
    command -v "$tool" >/dev/null || missing+=("${package[$tool]}")
done
((${#missing[@]})) || exit 0
if [[ ! -e /etc/debian_version || $(id -u) != 0 ]]; then
    echo "tools.sh: missing ${missing[*]}: install them, or run as root on Debian" >&2
    exit 1
fi
apt-get update -qq
apt-get install -qq -y "${missing[@]}"
