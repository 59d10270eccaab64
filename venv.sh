#!/usr/bin/env bash
# venv.sh PYTHON DIR PIP-ARGUMENTS...   make a virtual environment and install into it
set -euo pipefail

python=$1 directory=$2
shift 2

debian_package_for_venv() {
    [[ -e /etc/debian_version && $(id -u) == 0 ]] || return 0
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        apt-get update -qq && apt-get install -qq -y python3-venv
    fi
}

debian_package_for_venv
rm -rf "$directory"
"$python" -m venv "$directory"
"$directory/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
"$directory/bin/python" -m pip install --quiet "$@"
