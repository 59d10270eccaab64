#!/usr/bin/env bash
# wheels.sh PYTHON DIR MPI4PY "MINORS" "HOST_MINORS"   fetch what install.sh unpacks, for it uses no network
#   DIR/cp3N/          an mpi4py for each minor version of Python, `13t` for the free-threaded build of 3.13
#   DIR/*.whl          pip, and what the host commands need, for each of HOST_MINORS; DIR/host.txt names the latter
set -euo pipefail

python=$1 directory=$2 mpi4py=$3 minors=$4 host_minors=$5
here=$(cd "$(dirname "$0")" && pwd)

fetch() {
    "$python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: --implementation cp "$@"
}

mkdir -p "$directory"
"$python" -c 'import sys
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["optional-dependencies"]["host"], sep="\n")' \
    "$here/pyproject.toml" >"$directory/host.txt"
for minor in $minors; do
    # A wheel for several minors is of another ABI than its own; there is none for a free-threaded build.
    abi=()
    [[ $minor != *t ]] || abi=(--abi "cp3$minor")
    fetch --no-deps --python-version "3.${minor%t}" "${abi[@]}" --dest "$directory/cp3$minor" "$mpi4py"
done
for minor in $host_minors; do
    fetch --python-version "3.$minor" --dest "$directory" --requirement "$directory/host.txt" pip
done
