#!/usr/bin/env bash
# Makes Debian for aarch64 with what the tests need there, and prints its directory (last line of stdout):
#   DIR/opt/venv   Debian's Python with the modules of pyproject.toml's group test, mpi4py, and the packages of snapshot_packages.txt
#   DIR/opt/mpi    MPICH, where mpi.sh finds it, too
# Has this machine run programs of aarch64, too, by qemu.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=pins.sh
. "$here/pins.sh"

# busybox starts a virtual machine of it; readelf is in binutils.
readonly PACKAGES=(python3 python3-venv libstdc++6 busybox-static binutils mount)
readonly PROJECT=$here/../../pyproject.toml LIST=$here/../../tests/snapshots/snapshot_packages.txt
readonly PLATFORMS=$here/aarch64.platforms
readonly KERNEL=/proc/sys/fs/binfmt_misc SETTING=/usr/lib/binfmt.d/qemu-aarch64.conf

requirements() {
    /usr/bin/python3 -c 'import sys, tomllib
print("\n".join(tomllib.load(open(sys.argv[1], "rb"))["dependency-groups"]["test"]))' "$PROJECT"
}

# The kernel opens qemu here, so that it is there in a root of any other files.
run_by_qemu() {
    [ -e "$KERNEL/qemu-aarch64" ] && return
    [ -e "$KERNEL/register" ] || mount -t binfmt_misc none "$KERNEL" ||
        die "$EXIT_CANNOT" "this machine's kernel cannot start programs by qemu: it has no binfmt_misc"
    cat "$SETTING" >"$KERNEL/register"
}

# pip_for_aarch64 COMMAND...: this machine's, for qemu would take minutes.
pip_for_aarch64() {
    PIP_PLATFORM=$(<"$PLATFORMS") "$(pip_python)" -m pip "$@" </dev/null >&2 ||
        die 1 "pip could not have wheels for aarch64; see its message above"
}

# By the root's own pip, for no other puts what is not Python where it belongs.
install_mpich() {
    local root=$1 pip wheel
    pip_for_aarch64 download -q --only-binary=:all: --no-deps -d "$root/tmp" "$MPICH"
    pip=$(cd "$root" && echo usr/share/python-wheels/pip-*.whl)
    wheel=$(cd "$root" && echo tmp/mpich-*.whl)
    chroot "$root" /opt/venv/bin/python "/$pip/pip" --isolated install -q --no-index --no-deps --no-compile \
        --prefix /opt/mpi/mpich "/$wheel" >&2
    rm "$root/$wheel"
    mkdir -p "$root/var/cache/mpiimport"
    ln -s /opt/mpi "$root/var/cache/mpiimport/mpi-$(content_key "$here/mpi.sh" "$here/pins.sh")"
}

make_root() {
    local root=$1 work=$1.partial wanted
    is_debian || die "$EXIT_CANNOT" "this is not Debian: the root for aarch64 is bootstrapped from its packages"
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: the root for aarch64 is bootstrapped by a chroot"
    lock_cache aarch64
    # Another run may have made it while this one waited.
    [ ! -d "$root" ] || return 0
    rm -rf "$work"
    ARCHITECTURE=arm64 bootstrap "$SUITE" "$work" "$cache/aarch64.log" "${PACKAGES[@]}"
    chroot "$work" python3 -m venv --without-pip /opt/venv
    mapfile -t wanted < <(requirements)
    say "installing wheels"
    pip_for_aarch64 install -q --only-binary=:all: --implementation cp --python-version 3.11 --no-compile \
        --target "$work/opt/venv/lib/python3.11/site-packages" "${wanted[@]}" "$MPI4PY" -r "$LIST"
    install_mpich "$work"
    # Of the same version of Python; nothing here runs the packages' own tests.
    env -u PYTHONDONTWRITEBYTECODE /usr/bin/python3 -m compileall -q -j 0 -x '/tests?/' -s "$work" -p / \
        "$work/opt/venv/lib" "$work/usr/lib/python3.11" >/dev/null 2>&1 || true
    mv "$work" "$root"
}

main() {
    local root
    cache=$(cache_dir)
    apt_ensure arch-test qemu-user-static
    run_by_qemu
    root=$cache/aarch64-$(content_key "${BASH_SOURCE[0]}" "$here/mpi.sh" "$here/pins.sh" "$LIST" "$PLATFORMS" \
        "$(requirements)")
    [ -d "$root" ] || make_root "$root"
    printf '%s\n' "$root"
}

main "$@"
