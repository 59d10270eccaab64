#!/usr/bin/env bash
# install.sh PREFIX               lay out one relocatable directory for a site, or replace the one that is there
# install.sh --uninstall PREFIX   take away what was installed, and nothing else
# install.sh --wheel DIR          lay out what a wheel has
# No network is used. PARTS is the directory that has bin/ and wheels/; in an unpacked tarball it is the script's own.
# PYTHON runs the host commands.
set -euo pipefail
umask 022

here=$(cd "$(dirname "$0")" && pwd)
parts=${PARTS:-$here}
# What is wholly ours in PREFIX. Of the rest, this file says each name.
readonly OURS=(host lib/mpiimport mpi4py) LIST=share/mpiimport/installed SUMS=share/mpiimport/checksums
# Held while PREFIX is laid out.
readonly LOCK=share/mpiimport/lock
# What install.sh and the host commands need of Python, and what builds of one may lack.
readonly MODULES="ctypes, venv, zipfile, zlib"
pythons=()

die() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}

serves() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

# Can this Python lay out PREFIX and run the host commands? If not, says why.
runs_commands() {
    "$1" -c "import sys
if sys.version_info < (3, 10):
    sys.exit('it is older than 3.10')
import $MODULES" 2>&1 >/dev/null | tail -n 1
}

# The first one runs the host commands.
find_pythons() {
    local candidate why candidates=("${PYTHON:-python3}")
    [[ ${PYTHON:-} ]] || candidates+=(python3.{10..15})
    for candidate in "${candidates[@]}"; do
        if why=$(runs_commands "$candidate"); then
            pythons=("$candidate")
            break
        fi
    done
    [[ ${pythons[*]} ]] || die "${PYTHON:-each Python on PATH} cannot run the host commands ($why); name one of 3.10 or\
 newer that has the modules $MODULES: PYTHON=/path/to/python3 $0 PREFIX"
    for candidate in python3.{10..15}{,t}; do
        if serves "$candidate"; then pythons+=("$candidate"); fi
    done
}

# A Python below somebody's home would make commands for that person alone.
python_for_all() {
    local candidate
    for candidate in "${pythons[0]}" /usr/bin/python3; do
        if is_open_to_all "$(command -v "$candidate")" && runs_commands "$candidate" >/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "${pythons[0]} is closed to other users: the command mpiimport will work for you alone" >&2
    echo "${pythons[0]}"
}

is_open_to_all() {
    local path
    path=$(readlink -f "$1")
    while [[ $path != / ]]; do
        [[ $(stat -c %A "$path") == *x ]] || return 1
        path=$(dirname "$path")
    done
}

copy_binaries() {
    install -d "$1/bin" "$1/shim"
    install -m 755 "$parts"/bin/mpiimport{,-shim,-entry,-plan,-hook,-keeper} "$parts/bin/python-mpi" "$1/bin"
    ln -sfn ../bin/mpiimport-shim "$1/shim/singularity"
    ln -sfn ../bin/mpiimport-shim "$1/shim/apptainer"
}

copy_package() {
    install -d "$1/lib"
    # Neither the mode of the sources nor what their use left is wanted.
    tar -C "$here" --exclude=__pycache__ -cf - mpiimport | tar -C "$1/lib" --no-same-owner --no-same-permissions -xf -
    chmod -R u=rwX,go=rX "$1/lib"
    mv "$1/lib/mpiimport/profiles" "$1/profiles"
}

# Not built where there is no C compiler.
copy_restorer() {
    if [[ -d $parts/restorer ]]; then
        install -m 755 "$parts/restorer/mpiimport-restore" "$1/bin"
        install -m 755 "$parts/restorer/"{snapshot-recorder,freeze.so,variables.so} "$1/lib/mpiimport/snapshot"
    fi
}

# -B: the pycs of a wheel are pip's to make.
bundle_rank_path() {
    local interpreter
    for interpreter in "${pythons[@]}"; do
        "$interpreter" -B "$1/lib/mpiimport/bundle.py"
    done
}

# Runtimes want the absolute path of a hook.
write_hooks() {
    local file target text quoted
    quoted=${2//\\/\\\\}
    quoted=${quoted//\"/\\\"}
    for file in "$here"/hooks/hooks.d/*/mpiimport.json; do
        target=$1/share/containers/oci/hooks.d/$(basename "$(dirname "$file")")
        install -d "$target"
        text=$(<"$file")
        printf '%s\n' "${text//@PREFIX@/"$quoted"}" >"$target/mpiimport.json"
    done
}

# One mpi4py for each minor, for trees that have none.
unpack_mpi4py() {
    local wheel
    for wheel in "$parts"/wheels/cp3*/mpi4py-*.whl; do
        "${pythons[0]}" -m zipfile -e "$wheel" "$1/mpi4py/$(basename "$(dirname "$wheel")")"
    done
}

# The prefix is mounted read-only, so pycs that are not here are never made.
compile_package() {
    local interpreter
    for interpreter in "${pythons[@]}"; do
        "$interpreter" -m compileall -q --invalidation-mode unchecked-hash "$1/lib" "$1/mpi4py"
    done
}

# The host commands have a Python environment of their own; a relative path file leads it to the one copy of our package.
install_host() {
    local old=$2/host/bin/python python site wanted pip
    python=$(python_for_all)
    # What the last installation unpacked need not be unpacked again.
    if [[ $(readlink -f "$old") == "$(readlink -f "$(command -v "$python")")" ]]; then
        cp -a "$2/host" "$1/host"
    else
        "$python" -m venv --without-pip "$1/host"
    fi
    python=$1/host/bin/python
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    mapfile -t wanted <"$parts/wheels/host.txt"
    pip=("$parts"/wheels/pip-*.whl)
    "$python" "${pip[0]}/pip" --isolated --no-cache-dir install --quiet --disable-pip-version-check --root-user-action=ignore \
        --no-warn-script-location --no-index --find-links "$parts/wheels" "${wanted[@]}"
    # Commands of others would name the directory that is renamed.
    find "$1/host/bin" -mindepth 1 ! -name 'python*' -delete
    printf '../../../../lib\n' >"$site/mpiimport.pth"
    "$python" -m mpiimport.host --version >/dev/null || die "the host commands do not run by $python"
}

write_modulefile() {
    install -d "$1/modulefiles"
    sed "s/@ARCHITECTURE@/$(uname -m)/" >"$1/modulefiles/mpiimport" <<'MODULE'
#%Module1.0
module-whatis "Start-up accelerator for Python MPI jobs in containers"
set root [file dirname [file dirname [file normalize $ModulesCurrentModulefile]]]
if {$tcl_platform(machine) ne "@ARCHITECTURE@"} {
    puts stderr "mpiimport: $root was installed for @ARCHITECTURE@, and this is $tcl_platform(machine): install into\
        another PREFIX here, and use its modulefiles"
    exit 1
}
prepend-path PATH $root/bin
prepend-path PATH $root/shim
MODULE
}

# The names of all files but those in directories that are wholly ours.
files_of() {
    (cd "$1" && find . \( -path "./${OURS[0]}" -o -path "./${OURS[1]}" -o -path "./${OURS[2]}" \) -prune -o \
        ! -type d -printf '%P\n' | LC_ALL=C sort)
}

# Settings of a site lie in etc: they outlive an upgrade.
files_of_others() {
    files_of "$1" | LC_ALL=C comm -23 - "$1/$LIST" | { grep -v '^etc/' || true; }
}

# The names of files that are no longer as they were installed.
edited_files() {
    (cd "$1" && LC_ALL=C sha256sum --check --quiet --ignore-missing "$SUMS" 2>/dev/null || true) | sed -n 's/: FAILED$//p'
}

must_be_ours() {
    local others
    [[ -e $1 ]] || return 0
    [[ ! -d $1 || -r $1 && -x $1 ]] || die "$1 cannot be looked into; nothing was changed. Name another directory"
    # An uninstalled one leaves the site's settings.
    [[ -n $(find "$1" -mindepth 1 ! -path "$1/etc" ! -path "$1/etc/*" -print -quit) ]] || return 0
    [[ -f $1/$LIST ]] || die "$1 is neither empty nor an installation of mpiimport (it has no $LIST); nothing was\
 changed. Name a directory for mpiimport alone, as /opt/mpiimport"
    [[ -O $1 ]] || die "$1 belongs to $(stat -c %U "$1"); nothing was changed. Install as that user, or into another PREFIX"
    others=$(files_of_others "$1" && edited_files "$1")
    [[ -z $others ]] || die "$1 has files that mpiimport did not install, or that were edited since; nothing was changed.\
 Move them, a site's profiles to /etc/mpiimport/profiles.d, and install again:
$others"
}

# One call of the kernel, so that no job sees half an installation. NFS cannot: there PREFIX is away for a moment.
swap() {
    "${pythons[0]}" - "$1" "$2" <<'PYTHON'
import ctypes, os, sys

new, place = map(os.fsencode, sys.argv[1:])
here, exchange = -100, 2
rename = getattr(ctypes.CDLL(None), "renameat2", None)
if rename is None or rename(here, new, here, place, exchange) != 0:
    old = new + b".old"
    try:
        os.rename(place, old)
    except OSError as exc:
        sys.exit("install.sh: %s cannot be replaced (%s); name a directory in it instead" % (sys.argv[2], exc.strerror))
    os.rename(new, place)
    os.rename(old, new)
PYTHON
}

# What killed installations have laid out. Where PREFIX itself is away, a whole one may be all that there is of it.
sweep() {
    local left
    for left in "$1".new.??????{,.old}; do
        [[ -f $left/$LOCK && ! -L $left && -O $left ]] || continue
        [[ -e $1 || ! -f $left/$LIST ]] || continue
        if flock -n "$left/$LOCK" rm -rf "$left"; then
            printf 'install.sh: removed %s, which a killed installation left\n' "$left" >&2
        fi
    done
}

new=
install_site() {
    local named=$1 place lock sums
    named=$(realpath -ms "$1")
    place=$(realpath -m "$1")
    must_be_ours "$place"
    find_pythons
    mkdir -p "$(dirname "$place")"
    new=$(mktemp -d "$place.new.XXXXXX") || die "an installation is laid out beside PREFIX and renamed: let $(id -un)\
 write to $(dirname "$place"), or name another PREFIX"
    trap 'rm -rf "$new"' EXIT
    chmod 755 "$new"
    install -d "$new/$(dirname "$LOCK")"
    exec {lock}>"$new/$LOCK"
    flock "$lock"
    sweep "$place"
    if [[ -d $place/etc ]]; then cp -a "$place/etc" "$new/etc"; fi
    copy_binaries "$new"
    copy_package "$new"
    copy_restorer "$new"
    bundle_rank_path "$new"
    write_hooks "$new" "$named"
    unpack_mpi4py "$new"
    compile_package "$new"
    install_host "$new" "$place"
    write_modulefile "$new"
    "$new/bin/mpiimport-plan" record --prefix "$new"
    sums=$(cd "$new" && files_of . | { grep -v '^etc/' || true; } | xargs -d '\n' sha256sum)
    printf '%s\n' "$sums" >"$new/$SUMS"
    { files_of "$new" && echo "$LIST"; } | { grep -v '^etc/' || true; } | LC_ALL=C sort >"$new/$LIST.new"
    mv "$new/$LIST.new" "$new/$LIST"
    if [[ -e $place ]]; then
        chmod --reference="$place" "$new"
        swap "$new" "$place"
    else
        mv -T "$new" "$place"
    fi
}

# Somebody else may have written the list and made links. So nothing but what find(1) meets is removed, which goes by
# descriptors and follows no link.
uninstall() {
    local place name names=(-false)
    place=$(realpath -m "$1")
    { cd -P "$place" && [[ -f $LIST ]]; } 2>/dev/null ||
        die "$place is no installation of mpiimport (it has no $LIST); nothing was changed"
    # The last two are written by mpiimport-plan.
    while IFS= read -r name; do
        names+=(-o -path "./$name")
    done < <(cat "$LIST" && printf '%s\n' "${OURS[@]}" "${OURS[@]/%//*}" etc/launch.yaml etc/hook.yaml)
    find . -xdev ! -type d \( "${names[@]}" \) -delete
    find . -xdev -mindepth 1 -type d -empty -delete
    cd /
    rmdir "$place" 2>/dev/null ||
        printf 'install.sh: left, for mpiimport did not install it:\n%s\n' "$(find "$place" ! -type d)" >&2
}

case ${1:-} in
--uninstall) uninstall "${2:?the PREFIX that is to be uninstalled}" ;;
--wheel)
    find_pythons
    copy_binaries "$2"
    copy_package "$2"
    copy_restorer "$2"
    bundle_rank_path "$2"
    ;;
'' | -*)
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
    ;;
*)
    [[ $# == 1 ]] || die "one PREFIX is expected, not $#: quote one that has blanks"
    install_site "$1"
    ;;
esac
