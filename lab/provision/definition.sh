#!/usr/bin/env bash
# Builds containers/numpy-scipy.def on the test images' base and cached wheels, without a registry or package index,
# and prints the sandbox's path (last line of stdout).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

readonly DEFINITION=$here/../../containers/numpy-scipy.def

build() {
    local directory=$1 images=$2 work=$1.partial apptainer
    lock_cache definition
    # Another run may have made it while this one waited.
    [ ! -d "$directory" ] || return 0
    apptainer=$("$here/apptainer.sh" | tail -n 1)
    rm -rf "$work"
    mkdir "$work"
    say "building $directory/numpy-scipy"
    # Only APPTAINERENV_* reaches %post. Root here may lack a capability that Apptainer asks for by default.
    if ! APPTAINER_DROP_CAPS=CAP_SYS_RESOURCE APPTAINERENV_PIP_NO_INDEX=1 APPTAINERENV_PIP_FIND_LINKS=/mnt \
        timeout -k 5 300 "$apptainer" build --sandbox --bind "$cache/wheels:/mnt" \
        --build-arg bootstrap=localimage --build-arg base="$images/base" \
        "$work/numpy-scipy" "$DEFINITION" </dev/null >"$cache/definition.log" 2>&1; then
        tail -n 30 "$cache/definition.log" >&2
        die 1 "apptainer could not build $DEFINITION; the whole log is $cache/definition.log"
    fi
    mv "$work" "$directory"
}

main() {
    local images directory
    cache=$(cache_dir)
    images=$("$here/images.sh" base py | sed -n 's/^images: //p')
    directory=$cache/definition-$(content_key "$DEFINITION" "${BASH_SOURCE[0]}" "$images")
    [ -d "$directory" ] || build "$directory" "$images"
    printf '%s\n' "$directory/numpy-scipy"
}

main "$@"
