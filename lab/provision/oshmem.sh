#!/usr/bin/env bash
# oshmem.sh PYTHON   makes a real OpenSHMEM with shmem4py and prints its directory (last line of stdout):
#   DIR/image/   Debian with its Python 3.11, Open MPI with oshmem, and NumPy, mpi4py and shmem4py: an Apptainer sandbox
#   DIR/lib/     the libraries that the image's Open MPI needs on the host, UCX among them: for LD_LIBRARY_PATH
#   DIR/venv/    PYTHON with the same packages
#   DIR/test/    shmem4py's own tests
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=pins.sh
. "$here/pins.sh"

readonly DEVELOPMENT=libopenmpi-dev SHMEM4PY=shmem4py==1.0.0
# NumPy 2 makes shmem4py's atomics and locks fail. Debian's UCX 1.13 computes fetching atomics wrongly over shared memory;
# this one needs no GPU.
readonly PACKAGES=(numpy==1.26.4 cffi==2.1.1 pycparser==3.12 "$MPI4PY") UCX=libucx-cu12==1.22.0
readonly BUILD_PACKAGES=(setuptools==84.2.1 wheel==0.48.0)
readonly LIBRARIES=usr/lib/x86_64-linux-gnu
readonly SITE=usr/local/lib/python3.11/dist-packages

# Copies what the image's Open MPI needs, less what every Debian has.
collect_libraries() {
    local image=$1 directory=$2 library
    mkdir "$directory"
    # shellcheck disable=SC2016  # expanded in the image
    chroot "$image" bash -c 'cd "$1" && ldd /usr/bin/orterun liboshmem.so.40 openmpi/lib/openmpi3/*.so pmix2/lib/pmix/*.so' \
        bash "/$LIBRARIES" 2>/dev/null | awk '$3 ~ /^\// { print $3 }' | sort -u |
        grep -vE '/(libc|libdl|libgcc_s|libm|libpthread|librt|libstdc\+\+|libz)\.so' |
        while read -r library; do
            cp "$image$(chroot "$image" readlink -f "$library")" "$directory/${library##*/}"
        done
    cp "$image"/opt/ucx/lib/* "$directory"
}

# The compiler that shmem4py asks for, with the headers and libraries of packages that are unpacked, not installed.
write_compiler() {
    local file=$1 headers=$2 libraries=$3
    printf '#!/bin/sh\nexec gcc -I%q "$@" -L%q -l:liboshmem.so.40 -Wl,--allow-shlib-undefined\n' \
        "$headers" "$libraries" >"$file"
    chmod +x "$file"
}

# install_packages PYTHON WORK PIP-ARGUMENT...
install_packages() {
    local python=$1 work=$2
    shift 2
    "$(pip_python)" -m pip --python "$python" install -q --no-index --no-deps --no-compile --find-links "$wheels" \
        --find-links "$work" "$@" "${PACKAGES[@]}" "$SHMEM4PY" </dev/null >&2 ||
        die 1 "pip could not install the packages for $python; see its message above"
}

build_shmem4py() {
    local python=$1 work=$2
    "$python" -m venv "$work/build"
    "$work/build/bin/python" -m pip install -q --no-index --no-deps --find-links "$wheels" \
        "${PACKAGES[@]}" "${BUILD_PACKAGES[@]}" </dev/null >&2
    "$work/build/bin/python" -m pip download -q --no-deps --no-build-isolation --no-binary :all: -d "$work" "$SHMEM4PY" \
        </dev/null >&2 || die 1 "pip could not fetch the source of $SHMEM4PY"
    apt_ensure gcc
    (cd "$work" && apt-get -q download "$DEVELOPMENT" >/dev/null 2>&1) || die 1 "apt could not fetch $DEVELOPMENT"
    dpkg -x "$work/$DEVELOPMENT"_*.deb "$work/development"
    write_compiler "$work/oshcc" "$work/development/$LIBRARIES/fortran/gfortran-mod-15/openmpi" "$directory/lib"
    OSHCC=$work/oshcc "$work/build/bin/python" -m pip wheel -q --no-build-isolation --no-deps -w "$work" \
        "$work"/shmem4py-*.tar.gz </dev/null >&2 || die 1 "shmem4py does not compile; see the message above"
}

make_oshmem() {
    local python=$1 work=$directory/work
    mkdir -p "$work"
    bootstrap "$SUITE" "$directory/image" "$cache/oshmem.log" python3 libstdc++6 strace openmpi-bin libopenmpi3
    fetch_wheels "$wheels" "${PACKAGES[@]}" "${BUILD_PACKAGES[@]}" "$UCX"
    "$(pip_python)" -m pip install -q --no-index --no-deps --find-links "$wheels" --target "$work/ucx" "$UCX" </dev/null >&2
    # Its plugins are for GPUs and network adapters.
    mkdir -p "$directory/image/opt/ucx/lib"
    cp "$work"/ucx/libucx/lib/*.so.0 "$directory/image/opt/ucx/lib"
    # Before Debian's: the first file that names a directory counts.
    printf '/opt/ucx/lib\n' >"$directory/image/etc/ld.so.conf.d/000-ucx.conf"
    chroot "$directory/image" ldconfig
    collect_libraries "$directory/image" "$directory/lib"
    build_shmem4py "$python" "$work"
    "$python" -m venv --without-pip "$directory/venv"
    install_packages "$directory/venv/bin/python" "$work"
    install_packages "$(pip_python)" "$work" --ignore-installed --target "$directory/image/$SITE"
    "$directory/venv/bin/python" -m compileall -q "$directory/venv/lib"
    chroot "$directory/image" python3 -m compileall -q "/$SITE"
    tar -xf "$work"/shmem4py-*.tar.gz -C "$work"
    cp -r "$work"/shmem4py-*/test "$directory/test"
    rm -r "$work"
    : >"$directory/ready"
}

main() {
    local python=$1
    version=$("$python" -c 'import platform; print(platform.machine(), platform.python_version())')
    case $version in
    "x86_64 3.11."*) ;;
    *) die "$EXIT_CANNOT" "the packages are pinned for x86_64 3.11, and $python is $version" ;;
    esac
    cache=$(cache_dir)
    wheels=$cache/wheels
    directory=$cache/oshmem-$(content_key "${BASH_SOURCE[0]}" "$here/pins.sh" "$python" "$version")
    if [ ! -e "$directory/ready" ]; then
        is_debian || die "$EXIT_CANNOT" "this is not Debian: Open MPI is taken from its packages"
        [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: the image is bootstrapped by a chroot"
        lock_cache oshmem
        # Another run may have made it while this one waited. In place: a virtual environment's paths are part of it.
        [ -e "$directory/ready" ] || { rm -rf "$directory" && make_oshmem "$python"; }
    fi
    printf '%s\n' "$directory"
}

main "$@"
