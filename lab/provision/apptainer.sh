#!/usr/bin/env bash
# apptainer.sh [setuid]: prints the path of an Apptainer (last line of stdout), building one from Debian's source package
# if the machine has none. One with setuid programs is always built. Exit status 3: this machine cannot have one; 4: the
# pinned version is gone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly VERSION=1.4.5 REVISION=2 GO_MINIMUM=1.23.5
readonly PACKAGE=apptainer=$VERSION-$REVISION
# Looked for here before PATH.
readonly SERVER=libexec/apptainer/bin/squashfuse_ll

# What a non-setuid Apptainer calls or links at run time. Without gocryptfs every start of a SIF by an ordinary user
# prints a line that says so.
readonly RUN_PACKAGES=(squashfs-tools squashfuse fuse2fs fuse-overlayfs gocryptfs uidmap cryptsetup-bin e2fsprogs
    libseccomp2 libsubid4)
readonly BUILD_PACKAGES=(libseccomp-dev libsubid-dev libglib2.0-dev pkg-config gcc make libc6-dev dpkg-dev
    ca-certificates debian-archive-keyring)

# The machine's own runtime. Directories named "shim" hold mpiimport's stand-in, which needs a real one behind it.
find_on_path() {
    local directory name directories
    IFS=: read -r -a directories <<<"$PATH"
    for name in apptainer singularity; do
        for directory in "${directories[@]}"; do
            [ "${directory##*/}" != shim ] || continue
            if [ -f "$directory/$name" ] && [ -x "$directory/$name" ]; then
                printf '%s\n' "$directory/$name"
                return 0
            fi
        done
    done
    return 1
}

# Fetches the source package, unless the other build has kept it, and unpacks it below $1.
fetch_source() {
    local directory=$1 archive=apptainer_$VERSION.orig.tar.gz kept
    kept=$(find "$cache" -path "$cache/apptainer-$VERSION-$REVISION-*.build/$archive" -print -quit)
    if [ -z "$kept" ]; then
        fetch_debian_source "$directory" sid "$PACKAGE"
        kept=$directory/$archive
    fi
    # Upstream's tarball without Debian's patches: those replace pinned modules by Debian's own Go packages.
    tar -C "$directory" -xzf "$kept" --one-top-level=source --strip-components=1
}

# Chained, since bash ignores errexit in what stands before "||".
compile() {
    local work=$1 prefix=$2
    cd "$work/source" &&
        printf '%s\n' "$VERSION" >VERSION &&
        # Both ask for 1.23.6 as what other distributions have; Debian backports stop at 1.23.5.
        sed -i "s/^go 1\.23\.6$/go $GO_MINIMUM/" go.mod &&
        sed -i "s/^hstgo_version=.*/hstgo_version=$GO_MINIMUM/" mconfig &&
        ./mconfig "--$suid-suid" --without-network --prefix="$prefix" -b builddir &&
        # By this file make believes that it has emptied the Go build cache. The two programs share most packages.
        touch builddir/.clean-starter &&
        # No -j: Go uses all cores by itself. Each manual page and completion would compile the program once more.
        nice make -C builddir install bash_completions_INSTALL= man_pages_INSTALL= DESTDIR="$work/stage"
}

# The source tree keeps its place after the build: "apptainer plugin compile" works inside that very directory.
build() {
    local work=$1 prefix=$2
    rm -rf "$work"
    mkdir -p "$work"
    fetch_source "$work"
    say "building Apptainer $VERSION (3 minutes on 2 cores), log $log"
    # A build cache of its own, which goes when it is done.
    export GOCACHE=$work/gocache GOFLAGS="-mod=mod -buildvcs=false" GOTOOLCHAIN=local
    (compile "$work" "$prefix") >>"$log" 2>&1 </dev/null || fail "the build of Apptainer $VERSION failed in $work/source"
    printf 'GOFLAGS=%s\nGO=%s\n' "$GOFLAGS" "$(go version)" >"$work/stage$prefix/mpiimport-build"
    rm -rf "$prefix"
    mv "$work/stage$prefix" "$prefix"
    # One with setuid programs starts in its own place alone.
    "$prefix/bin/apptainer" --version >>"$log" 2>&1 || {
        mv "$prefix" "$work/broken"
        fail "the Apptainer just built does not start"
    }
    rm -rf "$work/gocache" "$work/stage" "$work/apt"
}

# Has what serves SIF images escape from whoever traces a job: see untraced.c.
leave_server_untraced() {
    local server
    server=$(type -P squashfuse_ll)
    apt_ensure gcc libc6-dev
    gcc -Wall -Wextra -Werror -O2 -DPROGRAM="\"$server\"" -o "$1.partial" "$here/untraced.c"
    mv "$1.partial" "$1"
}

provide() {
    local name=$1 prefix=$2
    is_debian || die "$EXIT_CANNOT" "no apptainer on PATH, and this is not Debian, so none is built"
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "no apptainer on PATH, and not root, so none is built"
    lock_cache "$name"
    # A cache may outlive the machine that filled it.
    apt_ensure "${RUN_PACKAGES[@]}"
    [ -x "$prefix/bin/apptainer" ] || build_here "$name" "$prefix"
    [ -x "$prefix/$SERVER" ] || leave_server_untraced "$prefix/$SERVER"
}

build_here() {
    local name=$1 prefix=$2
    : >"$log"
    apt_ensure "${BUILD_PACKAGES[@]}"
    # The Go of all our own programs: a plugin is compiled by the same.
    PATH=$(dirname "$("$here/../../hooks/go.sh")"):$PATH
    build "$cache/$name.build" "$prefix"
}

main() {
    local found name prefix
    if [ "${1:-}" != setuid ] && found=$(find_on_path); then
        printf '%s\n' "$found"
        return 0
    fi
    cache=$(cache_dir)
    name=apptainer-$VERSION-$REVISION-$(uname -m)
    suid=without
    if [ "${1:-}" = setuid ]; then
        name+=-setuid
        suid=with
    fi
    prefix=$cache/$name
    log=$cache/$name.log
    if ! { [ -x "$prefix/bin/apptainer" ] && [ -x "$prefix/$SERVER" ] && apt_has "${RUN_PACKAGES[@]}"; }; then
        provide "$name" "$prefix"
    fi
    printf '%s\n' "$prefix/bin/apptainer"
}

main "$@"
