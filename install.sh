#!/usr/bin/env bash
# install.sh PREFIX BINARIES                           lay out what every installation has, a wheel's too
# install.sh PREFIX BINARIES MPI4PY "MINORS" PYTHON    lay out one relocatable directory for a site
set -euo pipefail

prefix=$1 binaries=$2 mpi4py=${3:-} minors=${4:-} python=${5:-} pythons=()
here=$(cd "$(dirname "$0")" && pwd)

copy_binaries() {
    install -d "$prefix/bin" "$prefix/shim"
    install -m 755 "$binaries"/mpiimport{,-shim,-entry,-plan,-hook,-keeper} "$prefix/bin"
    ln -sfn ../bin/mpiimport-shim "$prefix/shim/singularity"
    ln -sfn ../bin/mpiimport-shim "$prefix/shim/apptainer"
}

# Runtimes want the absolute path of a hook.
write_hooks() {
    local file target text quoted
    quoted=${prefix//\\/\\\\}
    quoted=${quoted//\"/\\\"}
    for file in "$here"/hooks/hooks.d/*/mpiimport.json; do
        target=$prefix/share/containers/oci/hooks.d/$(basename "$(dirname "$file")")
        install -d "$target"
        text=$(<"$file")
        printf '%s\n' "${text//@PREFIX@/"$quoted"}" >"$target/mpiimport.json"
    done
}

copy_package() {
    install -d "$prefix/lib"
    rm -rf "$prefix/lib/mpiimport"
    cp -R "$here/mpiimport" "$prefix/lib/mpiimport"
    find "$prefix/lib" -name __pycache__ -prune -exec rm -rf {} +
    rm -rf "$prefix/profiles"
    mv "$prefix/lib/mpiimport/profiles" "$prefix/profiles"
}

find_pythons() {
    local interpreter
    for interpreter in "$python" python3.{10..15}; do
        if "$interpreter" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            pythons+=("$interpreter")
        fi
    done
}

# -B: the pycs of a wheel are pip's to make.
bundle_rank_path() {
    local interpreter
    for interpreter in "${pythons[@]}"; do
        "$interpreter" -B "$prefix/lib/mpiimport/bundle.py"
    done
}

# The prefix is mounted read-only, so pycs that are not here are never made.
compile_package() {
    local interpreter
    for interpreter in "${pythons[@]}"; do
        "$interpreter" -m compileall -q --invalidation-mode unchecked-hash "$prefix/lib" "$prefix/mpi4py"
    done
}

# One mpi4py for each minor, for trees that have none.
fetch_mpi4py() {
    local minor target
    for minor in $minors; do
        target=$prefix/mpi4py/cp3$minor
        [[ -d $target/mpi4py ]] && continue
        "$python" -m pip install --quiet --no-deps --no-compile --only-binary=:all: \
            --implementation cp --python-version "3.$minor" --target "$target.new" "$mpi4py"
        mv "$target.new" "$target"
    done
}

is_open_to_all() {
    local path
    path=$(readlink -f "$1")
    while [[ $path != / ]]; do
        [[ $(stat -c %A "$path") == *x ]] || return 1
        path=$(dirname "$path")
    done
}

# A Python below somebody's home would make commands for that person alone.
python_for_all() {
    local candidate
    for candidate in "$python" /usr/bin/python3; do
        if is_open_to_all "$(command -v "$candidate")" &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "$python is closed to other users: the command mpiimport will work for you alone" >&2
    echo "$python"
}

# The host commands have a Python environment of their own; a relative path file leads it to the one copy of ours.
install_host() {
    local wanted site
    [[ -x $prefix/host/bin/python ]] || "$(python_for_all)" -m venv --without-pip "$prefix/host"
    site=$("$prefix/host/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    wanted=$("$python" -c 'import sys
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["optional-dependencies"]["host"])' "$here/pyproject.toml")
    # shellcheck disable=SC2086  # one word for each requirement
    "$python" -m pip --python "$prefix/host/bin/python" install --quiet --disable-pip-version-check $wanted
    printf '../../../../lib\n' >"$site/mpiimport.pth"
}

write_modulefile() {
    install -d "$prefix/modulefiles"
    sed "s/@ARCHITECTURE@/$(uname -m)/" >"$prefix/modulefiles/mpiimport" <<'MODULE'
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

mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
copy_binaries
copy_package
find_pythons
bundle_rank_path
[[ $python ]] || exit 0
write_hooks
fetch_mpi4py
compile_package
install_host
write_modulefile
"$prefix/bin/mpiimport-plan" record --prefix "$prefix"
