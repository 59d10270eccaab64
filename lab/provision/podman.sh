#!/usr/bin/env bash
# Installs podman with runc and crun, gives root and the ordinary test user a storage of their own that holds the image
# localhost/mpiimport-py (the sandbox py of images.sh), and prints DIR (last line of stdout):
#   DIR/root/containers.conf, storage.conf     what CONTAINERS_CONF and CONTAINERS_STORAGE_CONF name for root,
#   DIR/user/containers.conf, storage.conf     and for the test user
#   /run/mpiimport-podman/{root,user}          what XDG_RUNTIME_DIR names
# The machine's own podman, its images and its settings are not touched.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly PACKAGES=(podman runc crun uidmap fuse-overlayfs catatonit)
readonly IMAGE=localhost/mpiimport-py
# State that must not outlive the machine's uptime: podman would join the namespaces of a process id of last time.
readonly RUN=/run/mpiimport-podman

# as_identity root|user COMMAND...
as_identity() {
    local who=$1 settings
    shift
    settings=(HOME=/nonexistent PATH=/usr/bin:/bin:/usr/sbin:/sbin XDG_RUNTIME_DIR="$RUN/$who"
        CONTAINERS_CONF="$made/$who/containers.conf" CONTAINERS_STORAGE_CONF="$made/$who/storage.conf")
    if [ "$who" = user ]; then
        settings[0]=HOME=$(getent passwd "$user" | cut -d: -f6)
        (cd / && runuser -u "$user" -- env -i "${settings[@]}" "$@")
    else
        env -i "${settings[@]}" "$@"
    fi
}

# crun refuses cgroups of both versions side by side, so there it sees none of version 2.
crun_command() {
    if [ "$(stat -f -c %T /sys/fs/cgroup/unified 2>/dev/null)" = cgroup2fs ]; then
        cat >"$made/crun" <<'WRAPPER'
#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup/unified && exec /usr/bin/crun "$@"' crun "$@"
WRAPPER
        chmod 755 "$made/crun"
        printf '%s\n' "$made/crun"
    else
        printf '/usr/bin/crun\n'
    fi
}

write_settings() {
    local who=$1 place=$made/$1 crun=$2
    # No network: these machines need none. Limits that a root without CAP_SYS_RESOURCE can set. Locks in files: those
    # in shared memory would be the machine's own podman's.
    cat >"$made/$who/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "runc"
tmp_dir = "$RUN/$who/libpod"
[engine.runtimes]
crun = ["$crun"]
CONF
    cat >"$made/$who/storage.conf" <<CONF
[storage]
driver = "overlay"
graphroot = "$place/storage"
rootless_storage_path = "$place/storage"
runroot = "$RUN/$who/containers"
CONF
}

import_image() {
    local who=$1
    say "importing $IMAGE for $who"
    tar -C "$images/py" -cf - . | as_identity "$who" podman import -q - "$IMAGE" >"$log" 2>&1 ||
        fail "podman could not import $images/py for $who"
}

# The storage names its own place, so it is made there and kept only when it is complete.
make_storages() {
    local directory=$1 crun who
    made=$directory
    rm -rf "$directory"
    mkdir "$directory"
    crun=$(crun_command)
    for who in root user; do
        mkdir "$directory/$who"
        write_settings "$who" "$crun"
        [ "$who" = root ] || chown "$user" "$directory/$who"
        import_image "$who"
    done
    touch "$directory/complete"
}

# Containers that share the host's IPC get its message queues mounted, which machines without systemd do not have.
prepare_machine() {
    mkdir -p /dev/mqueue
    install -d -m 700 "$RUN/root"
    install -d -m 700 -o "$user" "$RUN/user"
}

main() {
    local cache directory
    is_debian || die "$EXIT_CANNOT" "this is not Debian: podman is installed from its packages"
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: podman for root and for another user is prepared"
    cache=$(cache_dir)
    log=$cache/podman.log
    apt_ensure "${PACKAGES[@]}"
    user=$("$here/user.sh" | tail -n 1)
    images=$("$here/images.sh" py | tail -n 1)
    images=${images#images: }
    prepare_machine
    directory=$cache/podman-$(content_key "${BASH_SOURCE[0]}" "${images##*/}" "$user")
    lock_cache podman
    [ -e "$directory/complete" ] || make_storages "$directory"
    made=$directory
    # The first call of a user makes a namespace for all; two at a time, as two ranks are, are in each other's way.
    as_identity user podman unshare true >>"$log" 2>&1 || fail "podman has no namespace for $user"
    printf '%s\n' "$directory"
}

main "$@"
