#!/usr/bin/env bash
# Makes a virtual environment with EasyBuild, and installs the modules tool that it wants; prints the environment's
# directory (last line of stdout), which MODULESHOME is to name too.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly PACKAGES=(easybuild-framework==5.4.1 easybuild-easyblocks==5.4.1)

main() {
    local directory
    is_debian || die "$EXIT_CANNOT" "this is not Debian: there is no known package of Environment Modules"
    apt_ensure environment-modules python3-venv
    directory=$(cache_dir)/easybuild-$(content_key "${BASH_SOURCE[0]}")
    lock_cache easybuild
    if [ ! -e "$directory/ready" ]; then
        rm -rf "$directory"
        /usr/bin/python3 -m venv "$directory" >&2
        "$directory/bin/python" -m pip install -q "${PACKAGES[@]}" </dev/null >&2 ||
            die 1 "pip could not install ${PACKAGES[*]}; see its message above"
        # EasyBuild knows the layout of the modules tool's own installer; Debian has another.
        mkdir "$directory/libexec"
        ln -s "$(dpkg -L environment-modules | grep -m 1 '/modulecmd\.tcl$')" "$directory/libexec/modulecmd.tcl"
        touch "$directory/ready"
    fi
    printf '%s\n' "$directory"
}

main "$@"
