#!/usr/bin/env bash
# everyday.sh PYTHON PREFIX   has what takes longest of what `make test` needs, three at a time. PYTHON runs the tests, PREFIX
# is the installation under test. Nothing fails here: a test asks again for what it needs, and says why there is none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Runs the scripts of its lines one after another. Each line: a script and its arguments.
provide() {
    local words
    while read -ra words; do
        "$here/${words[0]}" "${words[@]:1}" >/dev/null </dev/null || true
    done
}

main() {
    local python=$1 prefix=$2 own
    # The one that virtual environments are made of.
    own=$("$python" -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))')
    # Apptainer is compiled, while the other two wait for the network most of the time. `debian11` compiles a Python.
    provide <<LINES &
apptainer.sh
images.sh
images.sh debian11.sif debian13.sif
podman.sh
definition.sh
plugin.sh $prefix
LINES
    provide <<LINES &
images.sh debian11 debian13
oshmem.sh $own
clean.sh
python.sh 3.14
python.sh 3.15
LINES
    provide <<LINES &
packages.sh $own representative
suites.sh $python
packages.sh $own ipyparallel
packages.sh $own snakemake
packages.sh $own hooks
packages.sh $own parsl
packages.sh $own psij
LINES
    wait
}

main "$@"
