#!/usr/bin/env bash
# python.sh VERSION   prints the path of that CPython (last line of stdout): 3.10 to 3.15, or 3.13t, the free-threaded
# build. The machine's own, of any version, else Debian's. Exit status 3: this machine cannot have one; 4: the pinned source is gone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

# The release whose packages of newer Pythons are unpacked, whatever their patch version is now.
readonly RELEASE=forky
readonly UNPACKED=(3.14 3.15)
# Debian has no package of the free-threaded build, but the source of one.
readonly FREE_THREADED=3.13t SOURCE_VERSION=3.13.15 SOURCE_REVISION=1

readonly BUILD_PACKAGES=(gcc make libc6-dev dpkg-dev xz-utils zlib1g-dev libffi-dev libssl-dev ca-certificates
    debian-archive-keyring)

# Does the interpreter $1 run, and is it a version $2 that can make a virtual environment?
is_python() {
    [ -x "$1" ] && PYTHONHOME='' "$1" -E -s - "$2" 2>/dev/null <<'PROGRAM'
import ctypes, ssl, sys, sysconfig, zlib
if sys.version_info >= (3,):
    import venv
found = "%d.%d" % sys.version_info[:2] + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
sys.exit(found != sys.argv[1])
PROGRAM
}

# The machine's own interpreter: on PATH, or one of pyenv's.
find_installed() {
    local version=$1 candidate
    for candidate in "$(command -v "python$version" || true)" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python"${version%%.*}"; do
        # A shim of pyenv's is a script, which may have no interpreter to start.
        if [ "$(head -c 4 "$candidate" 2>/dev/null | tr -d '\0')" = $'\x7fELF' ] && is_python "$candidate" "$version"; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# Takes the packages and all they depend on, the C library too, apart from the machine's own: the interpreter is made
# to load libraries from beside itself.
unpack() {
    local version=$1 work=$2 prefix=$3 state=$2/apt package libraries loader link
    mkdir -p "$state" "$work/root"
    write_sources "$state" deb "$RELEASE"
    : >"$state/status"
    isolated_apt "$state" -o Dir::State::status="$state/status" update >>"$log" 2>&1 ||
        fail "apt could not read the list of $RELEASE's packages from $(debian_mirror)"
    isolated_apt "$state" -o Dir::State::status="$state/status" install --download-only -y --no-install-recommends \
        "python$version" "python$version-venv" >>"$log" 2>&1 </dev/null || fail "apt could not fetch python$version of $RELEASE"
    for package in "$state"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$work/root" >>"$log" 2>&1 || fail "cannot unpack $package"
    done
    libraries=$(cd "$work/root" && printf '%s\n' usr/lib/*-linux-gnu)
    loader=$(cd "$work/root" && printf '%s\n' usr/lib64/ld-linux-*)
    patchelf --force-rpath --set-rpath "$prefix/$libraries" --set-interpreter "$prefix/$loader" \
        "$work/root/usr/bin/python$version" >>"$log" 2>&1 || fail "patchelf failed"
    mv "$work/root" "$prefix"
    while IFS= read -r link; do
        ln -sfn "$prefix$(readlink "$link")" "$link"
    done < <(find "$prefix/usr/lib/python$version" -lname '/*')
    # Where ensurepip looks for pip.
    sed -i "s|/usr/share/python-wheels|$prefix&|" "$prefix/usr/lib/python$version"/_sysconfigdata_*.py
    # What the packages' own scripts would do, which are not run.
    "$prefix/usr/bin/python$version" -I -m compileall -q "$prefix/usr/lib/python$version" >>"$log" 2>&1 ||
        fail "the standard library of CPython $version does not compile"
}

# Chained, since bash ignores errexit in what stands before "||". Not optimised, so quick to build.
compile() {
    local source=$1 prefix=$2
    cd "$source" &&
        ./configure --prefix="$prefix/usr" --disable-gil --with-ensurepip=no &&
        nice make -j2 &&
        make install DESTDIR="$source/stage" &&
        mv "$source/stage$prefix" "$prefix"
}

build() {
    local work=$1 prefix=$2 package=python${FREE_THREADED%t}
    fetch_debian_source "$work" "$RELEASE" "$package=$SOURCE_VERSION-$SOURCE_REVISION"
    tar -C "$work" -xJf "$work/${package}_$SOURCE_VERSION.orig.tar.xz" --one-top-level=source --strip-components=1
    say "building CPython $FREE_THREADED (about 5 minutes on 2 cores), log $log"
    (compile "$work/source" "$prefix") >>"$log" 2>&1 </dev/null || fail "the build of CPython $FREE_THREADED failed in $work"
}

provide() {
    local version=$1 prefix=$2 work=$2.partial
    is_debian || die "$EXIT_CANNOT" "no CPython $version here, and this is not Debian, whose packages would do"
    lock_cache "${prefix##*/}"
    # Another run may have made it while this one waited.
    if is_python "$prefix/usr/bin/python$version" "$version"; then return 0; fi
    : >"$log"
    rm -rf "$work" "$prefix"
    mkdir -p "$work"
    if [ "$version" = "$FREE_THREADED" ]; then
        apt_ensure "${BUILD_PACKAGES[@]}"
        build "$work" "$prefix"
    else
        apt_ensure patchelf debian-archive-keyring
        unpack "$version" "$work" "$prefix"
    fi
    is_python "$prefix/usr/bin/python$version" "$version" || fail "the CPython $version just made does not run as it should"
    rm -rf "$work"
}

main() {
    local version=$1 found cache prefix
    if found=$(find_installed "$version"); then
        printf '%s\n' "$found"
        return 0
    fi
    case " ${UNPACKED[*]} $FREE_THREADED " in
    *" $version "*) ;;
    *) die "$EXIT_CANNOT" "this machine has no CPython $version, and none of that version is taken from Debian" ;;
    esac
    cache=$(cache_dir)
    prefix=$cache/python-$version-$(uname -m)
    log=$prefix.log
    is_python "$prefix/usr/bin/python$version" "$version" || provide "$version" "$prefix"
    printf '%s\n' "$prefix/usr/bin/python$version"
}

[ $# = 1 ] || die 2 "usage: ${0##*/} VERSION"
main "$1"
