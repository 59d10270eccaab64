# Functions shared by the provisioning scripts. Sourced, never run.
# shellcheck shell=bash

# What is built here is read by an ordinary test user as well.
umask 022

# Exit statuses a caller can tell apart: 3 = this machine cannot provide it (tests skip by name),
# 4 = the pinned version is gone from the mirror, 1 = anything else went wrong.
# shellcheck disable=SC2034
readonly EXIT_CANNOT=3 EXIT_GONE=4

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
    local status=$1
    shift
    say "$*"
    exit "$status"
}

# Prints the cache directory and makes it. Root's default is not below $HOME: /root is closed to
# the ordinary user that half of the container tests run as.
cache_dir() {
    local dir
    if [ -n "${MPIIMPORT_LAB_CACHE:-}" ]; then
        dir=$MPIIMPORT_LAB_CACHE
    elif [ "$(id -u)" = 0 ]; then
        dir=/var/cache/mpiimport
    else
        dir=${XDG_CACHE_HOME:-$HOME/.cache}/mpiimport
    fi
    mkdir -p "$dir" || die 1 "cannot make the cache directory $dir; set MPIIMPORT_LAB_CACHE to a writable one"
    (cd "$dir" && pwd -P)
}

# Takes an exclusive lock NAME in the cache for the rest of the script. Children inherit the
# descriptor; a killed script frees the lock with its last process.
lock_cache() {
    local file
    file=$(cache_dir)/$1.lock
    (: >>"$file") 2>/dev/null || die 1 "cannot write $file; set MPIIMPORT_LAB_CACHE to a directory of your own"
    exec {lock_fd}>>"$file"
    if ! flock -n "$lock_fd"; then
        say "waiting for another run that holds $file"
        flock "$lock_fd"
    fi
}

# os_release KEY: read, not sourced, since it would set our variables.
os_release() { sed -n "s/^$1=//p" /etc/os-release 2>/dev/null | tr -d '"'; }

is_debian() { [ "$(os_release ID)" = debian ]; }

# The machine's own mirror of the main archive, as its apt configuration names it.
debian_mirror() {
    local codename mirror
    codename=$(os_release VERSION_CODENAME)
    # shellcheck disable=SC2016  # apt's own variables
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk -v want="$codename" '$1 == want { print $2; exit }')
    [ -n "$mirror" ] || die 1 "apt knows no archive for '$codename'; add one to /etc/apt/sources.list.d"
    printf '%s\n' "$mirror"
}

# Prints those of the named packages that are not installed.
apt_missing() {
    local package
    for package in "$@"; do
        # shellcheck disable=SC2016  # dpkg's own variable
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
    done
}

apt_has() { [ -z "$(apt_missing "$@")" ]; }

# Installs those of the named packages that are missing. Needs root only when one is.
apt_ensure() {
    local missing
    mapfile -t missing < <(apt_missing "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root, and these packages are missing: ${missing[*]}"
    # Of two that update apt's lists at the same time one would fail.
    (
        lock_cache apt
        say "installing ${missing[*]}"
        said=$(cache_dir)/apt.log
        # Daemons that packages start are not to hold the lock.
        if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y \
            --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}"; } >"$said" 2>&1 </dev/null {lock_fd}>&-; then
            tail -n 20 "$said" >&2
            die 1 "apt could not install ${missing[*]}; the whole log is $said"
        fi
    ) || exit $?
}

# Asks apt with lists, sources and package state of its own under $1, so that the machine's apt never hears of sid.
# Error-Mode: without it an update that reaches no mirror succeeds, and the package would seem to be gone.
isolated_apt() {
    local state=$1
    shift
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    apt-get -q -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" \
        -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any "$@"
}

# write_sources STATE deb|deb-src SUITE...
write_sources() {
    local state=$1 kind=$2 mirror suite
    shift 2
    mirror=$(debian_mirror)
    for suite in "$@"; do
        printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$kind" "$mirror" "$suite"
    done >"$state/sources.list"
}

# Says why a provisioning that writes $log failed, and ends.
fail() {
    tail -n 30 "$log" >&2
    die 1 "$*; the whole log is $log"
}

# fetch_debian_source DIR SUITE NAME=VERSION: a source package into DIR. apt checks the signature chain and the hashes.
fetch_debian_source() {
    local directory=$1 suite=$2 package=$3 state=$1/apt name=${3%%=*}
    mkdir -p "$state"
    write_sources "$state" deb-src "$suite"
    isolated_apt "$state" -o Dir::State::status=/dev/null update >>"$log" 2>&1 ||
        fail "apt could not read the list of $suite's source packages from $(debian_mirror)"
    # Sources only, no glob: a name that is there in another version must be told from no name at all.
    if ! isolated_apt "$state" -o Dir::State::status=/dev/null --only-source --print-uris source "$package" >>"$log" 2>&1; then
        say "$suite now has: $(isolated_apt "$state" -o Dir::State::status=/dev/null --only-source --print-uris \
            source "$name" 2>/dev/null | grep -o "${name}_[^/ ]*\.dsc" | sort -u | tr '\n' ' ')"
        die "$EXIT_GONE" "the pinned source package $package is gone from the mirror: keep a cache that has it, or put the new version into $0"
    fi
    (cd "$directory" && isolated_apt "$state" -o Dir::State::status=/dev/null --download-only --only-source \
        source "$package") >>"$log" 2>&1 </dev/null || fail "apt could not fetch $package"
}

# bootstrap SUITE ROOT LOG PACKAGE...: Debian with these packages. mmdebstrap, not debootstrap, for its smaller
# variant: the essential packages and what is named, no apt, for an image is never changed later. Without
# documentation, manuals and translations, which nothing reads. ARCHITECTURE: another one than the machine's.
bootstrap() {
    local suite=$1 root=$2 log=$3 mirror
    shift 3
    apt_ensure mmdebstrap debian-archive-keyring
    mirror=$(debian_mirror)
    say "bootstrapping Debian $suite"
    mmdebstrap -q ${ARCHITECTURE:+--architectures="$ARCHITECTURE"} --variant=essential \
        --include="$(IFS=,; printf '%s' "$*")" \
        --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        "$suite" "$root" "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
        </dev/null >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        die 1 "mmdebstrap could not make a Debian $suite from $mirror; the whole log is $log"
    }
    # Containers get a /dev of their own, and an ordinary user who copies the sandbox cannot copy device nodes.
    find "$root/dev" -mindepth 1 -delete
}

# Names what is cached by what made it: the first characters of a hash over the named files and words.
content_key() {
    local argument
    for argument in "$@"; do
        if [ -f "$argument" ]; then cat "$argument"; else printf '%s\n' "$argument"; fi
    done | sha256sum | cut -c1-12
}

# Prints a Python with pip that runs outside any image: a venv of Debian's Python 3.11, the version in the images.
# pip takes indexes, certificates and wheel directories from the machine's settings.
pip_python() {
    local venv
    apt_ensure python3 python3-venv
    venv=$(cache_dir)/pip-venv
    (
        lock_cache pip
        if ! "$venv/bin/python3" -m pip --version >/dev/null 2>&1; then
            rm -rf "$venv"
            /usr/bin/python3 -m venv "$venv" >&2 || die 1 "/usr/bin/python3 could not make a venv in $venv"
        fi
    )
    printf '%s\n' "$venv/bin/python3"
}

# fetch_wheels DIR REQUIREMENT...: those not yet in DIR come from the machine's package index. FOR_PYTHON: the version that they
# are for, where it is not that of the images.
fetch_wheels() (
    directory=$1
    shift
    lock_cache wheels
    python=$(pip_python)
    mkdir -p "$directory"
    for requirement in "$@"; do
        compgen -G "$directory/$(tr - _ <<<"${requirement%%==*}")-${requirement##*==}-*.whl" >/dev/null && continue
        say "fetching $requirement"
        "$python" -m pip download -q --no-deps --only-binary :all: ${FOR_PYTHON:+--python-version "$FOR_PYTHON"} \
            -d "$directory" "$requirement" </dev/null >&2 ||
            die 1 "pip could not fetch a wheel of $requirement for $("$python" --version); see its message above"
    done
)
