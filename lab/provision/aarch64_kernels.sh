#!/usr/bin/env bash
# aarch64_kernels.sh ROOT: makes kernels for virtual machines of aarch64 that start in ROOT, what aarch64.sh has made, and prints
# their directory (last line of stdout). PAGES is 4 or 64, the kilobytes of a page:
#   DIR/PAGES/Image, DIR/PAGES/start   the kernel, and what it begins with: it mounts the root and becomes its /init
# That of 4 is Debian's. Debian has none of 64, so that is compiled from Debian's source (8 minutes on 2 cores).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=pins.sh
. "$here/pins.sh"

readonly SOURCE=linux-source-6.1 CONFIGURATION=$here/aarch64.config
readonly TOOLS=(bc bison cpio flex gcc gcc-aarch64-linux-gnu kmod libc6-dev-arm64-cross libssl-dev make xz-utils "$SOURCE")

# Debian's kernel, with the modules by which it reaches the root, in their order.
fetch_debians() {
    local directory=$1 work=$1/work package options=(-o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o Dir::State::status=/dev/null)
    mkdir -p "$work" "$directory/modules"
    write_sources "$work" deb "$SUITE"
    (
        cd "$work" &&
            isolated_apt "$work" "${options[@]}" update &&
            isolated_apt "$work" "${options[@]}" download linux-image-arm64 &&
            package=$(dpkg-deb -f linux-image-arm64_*.deb Depends | sed 's/ .*//') &&
            isolated_apt "$work" "${options[@]}" download "$package" &&
            dpkg-deb -x "${package}"_*.deb unpacked
    ) >>"$log" 2>&1 </dev/null || fail "apt could not fetch Debian's kernel for aarch64"
    mv "$work"/unpacked/boot/vmlinuz-* "$directory/Image"
    name_modules "$work/unpacked" "$directory/modules"
    rm -rf "$work"
}

name_modules() {
    local root=$1 directory=$2 release number=10 words
    release=$(ls "$root/lib/modules")
    depmod -b "$root" "$release"
    for words in virtio_pci 9pnet_virtio 9p; do
        modprobe -d "$root" -S "$release" --show-depends "$words"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r words; do
        cp "$words" "$directory/$number-${words##*/}"
        number=$((number + 1))
    done
}

compile() {
    local directory=$1 work=$1/work settings=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "O=$1/work/out")
    mkdir -p "$work/out" "$directory/modules" &&
        tar -C "$work" -xf "/usr/src/$SOURCE.tar.xz" --strip-components=1 &&
        nice make -s -C "$work" "${settings[@]}" allnoconfig &&
        "$work/scripts/kconfig/merge_config.sh" -O "$work/out" -m "$work/out/.config" "$CONFIGURATION" &&
        nice make -s -C "$work" "${settings[@]}" olddefconfig &&
        nice make -s -C "$work" "${settings[@]}" "-j$(nproc)" Image &&
        mv "$work/out/arch/arm64/boot/Image" "$directory" && rm -rf "$work"
}

# What a kernel begins with: busybox, its modules, and a script.
pack_start() {
    local directory=$1 root=$2 work=$1/start.partial
    mkdir -p "$work"/{bin,proc,root}
    cp "$root/bin/busybox" "$work/bin"
    mv "$directory/modules" "$work"
    cat >"$work/init" <<'SCRIPT'
#!/bin/busybox sh
busybox mount -t proc proc /proc
for module in /modules/*; do [ ! -e "$module" ] || busybox insmod "$module"; done
busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose root /root
busybox umount /proc
exec busybox switch_root /root /init
SCRIPT
    chmod +x "$work/init"
    (cd "$work" && find . | cpio --quiet -o -H newc | gzip -1) >"$directory/start"
    rm -r "$work"
}

make_kernels() {
    local directory=$1 root=$2 work=$1.partial pages
    lock_cache aarch64-kernels
    # Another run may have made them while this one waited.
    [ ! -d "$directory" ] || return 0
    apt_ensure "${TOOLS[@]}"
    : >"$log"
    rm -rf "$work"
    say "fetching Debian's kernel for aarch64"
    fetch_debians "$work/4"
    say "compiling a kernel with pages of 64 KiB (8 minutes on 2 cores), log $log"
    compile "$work/64" >>"$log" 2>&1 </dev/null || fail "a kernel for aarch64 could not be compiled in $work/64"
    for pages in 4 64; do pack_start "$work/$pages" "$root"; done
    mv "$work" "$directory"
}

main() {
    local directory
    cache=$(cache_dir)
    log=$cache/aarch64-kernels.log
    directory=$cache/aarch64-kernels-$(content_key "${BASH_SOURCE[0]}" "$here/pins.sh" "$CONFIGURATION")
    apt_ensure qemu-system-arm
    [ -d "$directory" ] || make_kernels "$directory" "$1"
    printf '%s\n' "$directory"
}

main "$@"
