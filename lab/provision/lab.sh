#!/usr/bin/env bash
# Makes the client of the simulated shared file system of lab and what the simulated cluster is set up with, and
# prints the client's path (last line of stdout).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly SOURCES=$here/../sharedfs

make_client() {
    local directory=$1 log flags
    lock_cache sharedfs
    # Another run may have made it while this one waited.
    [ ! -x "$directory/sharedfs" ] || return 0
    mkdir -p "$directory"
    log=$directory/log
    read -ra flags < <(pkg-config --cflags --libs 'fuse3 >= 3.12') ||
        die "$EXIT_CANNOT" "libfuse is older than 3.12, which the client of the simulated file system needs"
    gcc -std=c11 -D_GNU_SOURCE -DFUSE_USE_VERSION=312 -O2 -Wall -Wextra -Werror -o "$directory/partial" \
        "$SOURCES"/*.c "${flags[@]}" >"$log" 2>&1 ||
        fail "gcc could not build $SOURCES"
    mv "$directory/partial" "$directory/sharedfs"
}

main() {
    local directory
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "only root can mount file systems and make namespaces"
    [ -c /dev/fuse ] || die "$EXIT_CANNOT" "there is no /dev/fuse: load the kernel's fuse module"
    is_debian || die "$EXIT_CANNOT" "this is not Debian: there are no known packages to build the lab with"
    apt_ensure gcc libc6-dev libfuse3-dev pkg-config iproute2 procps util-linux
    directory=$(cache_dir)/sharedfs-$(content_key "${BASH_SOURCE[0]}" "$SOURCES"/*)-$(uname -m)
    [ -x "$directory/sharedfs" ] || make_client "$directory"
    printf '%s\n' "$directory/sharedfs"
}

main "$@"
