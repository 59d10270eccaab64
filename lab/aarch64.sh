#!/usr/bin/env bash
# lab/aarch64.sh KIND DIR COMMAND...   runs a command as root in a Debian for aarch64, in its directory /src
# KIND: user (by qemu in user mode), or 4 or 64: a virtual machine with two processors and pages of so many KiB.
# DIR/files holds what is there in place of Debian's files, or beside them, and all that the command writes. BELOW: such
# a directory of another run, which only is read.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# What both kinds have in place of the machine's own.
readonly OWN='export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
cd /src'

# Only what the command needs of this machine's environment.
run_by_qemu() {
    mount --bind /sys "$merged/sys"
    mount -t tmpfs dev "$merged/dev"
    cp -a /dev/{null,zero,full,random,urandom,tty} "$merged/dev"
    ln -s /proc/self/fd "$merged/dev/fd"
    mkdir "$merged/dev/shm"
    # shellcheck disable=SC2016  # the words are expanded there
    env -i PATH="$PATH" chroot "$merged" sh -c "$OWN"'; exec "$@"' sh "$@"
}

# All processes run on the first processor, but those that are bound to the second one: where two that wait for each
# other run on two, as below the recorder, an emulated machine takes ten times as long.
run_in_machine() {
    local pages=$1 status
    shift
    rm -f "$merged/status"
    cat >"$merged/init" <<SCRIPT
#!/bin/sh
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t devpts pts /dev/pts
mkdir /dev/processors
mount -t cgroup -o cpuset processors /dev/processors
echo 0 >/dev/processors/cpuset.sched_load_balance
busybox taskset -p 1 \$\$ >/dev/null
busybox taskset -p 3 \$\$ >/dev/null
$OWN
busybox date -s @$(date +%s) >/dev/null
busybox ip link set lo up
$(printf '%q ' "$@")
echo \$? >/status
sync
busybox poweroff -f
SCRIPT
    chmod +x "$merged/init"
    qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -accel tcg,thread=multi -smp 2 -m 4096 -nographic -nic none \
        -kernel "$kernels/$pages/Image" -initrd "$kernels/$pages/start" -append "console=ttyAMA0 quiet" \
        -fsdev "local,id=root,path=$merged,security_model=passthrough,multidevs=remap" \
        -device virtio-9p-pci,fsdev=root,mount_tag=root </dev/null
    status=$(cat "$merged/status") || {
        echo "lab/aarch64.sh: the virtual machine ended before the command" >&2
        exit 1
    }
    return "$status"
}

if [[ $1 != --inside ]]; then
    root=$("$here/provision/aarch64.sh")
    if [[ $1 != user ]]; then kernels=$("$here/provision/aarch64_kernels.sh" "$root"); fi
    export root kernels=${kernels:-}
    exec unshare --mount --propagation private --pid --fork --kill-child "$0" --inside "$@"
fi
kind=$2 place=$(realpath -m "$3")
shift 3
merged=$place/merged
mkdir -p "$place"/{files,work,merged}
below=${BELOW:+$(realpath "$BELOW")/files:}$root
mount -t overlay -o "lowerdir=$below,upperdir=$place/files,workdir=$place/work" none "$merged"
mkdir -p "$merged/src"
case $kind in
user) run_by_qemu "$@" ;;
4 | 64) run_in_machine "$kind" "$@" ;;
esac
