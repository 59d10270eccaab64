#!/usr/bin/env bash
# Lets ordinary users mount SIF images: Apptainer without setuid mounts them by squashfuse, which opens /dev/fuse.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly DEVICE=/dev/fuse

main() {
    local mode
    [ -c "$DEVICE" ] || die "$EXIT_CANNOT" "there is no $DEVICE: load the kernel's fuse module"
    mode=$(stat -c %a "$DEVICE")
    # Distributions' udev rules make it 0666; machines without udev leave the kernel's 0600.
    case $mode in *[67]) return 0 ;; esac
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "$DEVICE has mode $mode: ordinary users cannot mount SIF images, and only root can change it"
    chmod 0666 "$DEVICE"
    say "changed the mode of $DEVICE from $mode to 666"
}

main "$@"
