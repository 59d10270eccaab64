#!/usr/bin/env bash
# images.sh [NAME...]: builds those of the test images, all where none is named, from Debian packages and PyPI wheels
# where they are not yet there, and prints "images: DIR" (last line of stdout):
#   DIR/py/        Debian, its Python 3.11, numpy, scipy, mpi4py; MPICH in /opt/mpich, Open MPI in /opt/openmpi
#   DIR/py.sif     the same as an lz4 SIF
#   DIR/nompi4py/  py without mpi4py, the MPIs kept
#   DIR/nopython/  busybox only
#   DIR/base/      Debian's Python with venv alone: what containers/numpy-scipy.def is built on in the tests
#   DIR/host/      no image but a host's venv of /usr/bin/python3 with numpy, scipy, mpi4py: to be bound into
#                  nompi4py or base, at its own path or another
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
readonly ALL=(base py nompi4py nopython host py.sif)
readonly SITE=usr/local/lib/python3.11/dist-packages

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
        chroot "$root" /usr/bin/python3 "$@" </dev/null >&2
}

# Runs the pip that Debian's python3-venv carries by the image's own Python: modules land where an administrator's
# pip puts them in that image, byte-compiled. Wheels come in beforehand, so the image needs no network.
image_pip() {
    local root=$1 python_wheels
    shift
    python_wheels=("$root"/usr/share/python-wheels/pip-*.whl)
    [ -f "${python_wheels[0]}" ] || die 1 "no pip wheel in $root/usr/share/python-wheels"
    image_python "$root" PYTHONPATH="${python_wheels[0]#"$root"}" -- -m pip install -q --no-index --no-deps \
        --find-links /tmp/wheels --no-cache-dir --break-system-packages --root-user-action=ignore "$@" ||
        die 1 "pip in the image $root could not install: $*"
}

make_base() { bootstrap "$SUITE" "$1" "$cache/images.log" "${PACKAGES[@]}"; }

make_py() {
    local root=$1 mpi
    provide base
    mpi=$("$here/mpi.sh" | tail -n 1)
    fetch_wheels "$wheels" "${MODULES[@]}"
    say "installing the wheels"
    cp -al "$place/base" "$root"
    mkdir "$root/tmp/wheels"
    cp "$wheels"/*.whl "$root/tmp/wheels"
    image_pip "$root" "${MODULES[@]}"
    rm -r "$root/tmp/wheels"
    # The host's own two, so that hybrid launches meet the same MPI inside. Debian's pip would put them below
    # /opt/mpich/local.
    cp -a "$mpi/mpich" "$mpi/openmpi" "$root/opt"
    image_python "$root" -- -B -c "import numpy, scipy.interpolate, mpi4py" ||
        die 1 "the Python of $root cannot import what was installed; see above"
    [ -f "$root/$SITE/numpy/__pycache__/__init__.cpython-311.pyc" ] || die 1 "numpy in $root is not byte-compiled"
    [ -f "$root/usr/lib/python3.11/__pycache__/os.cpython-311.pyc" ] || die 1 "the stdlib in $root is not byte-compiled"
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

make_py.sif() {
    local apptainer
    provide py
    apptainer=$("$here/apptainer.sh" | tail -n 1)
    say "packing py.sif"
    "$apptainer" -q build --mksquashfs-args="-comp lz4" "$1" "$place/py" </dev/null >"$cache/images.log" 2>&1 || {
        tail -n 20 "$cache/images.log" >&2
        die 1 "apptainer could not build $1"
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
        "make_$name" "$partial"
        mv "$partial" "$place/$name"
    done
}

main() {
    local wanted=("$@")
    [ $# -gt 0 ] || wanted=("${ALL[@]}")
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
