#!/usr/bin/env bash
# plugin.sh PREFIX: prints the path of an Apptainer of its own that has the plugin for the mpiimport in PREFIX (last line
# of stdout). Exit status 3: this machine cannot have one; 4: the pinned version of Apptainer is gone.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
root=$(cd "$here/../.." && pwd)

# The runtime finds its plugins beside its own executable, so that a copy has plugins of its own.
make_copy() {
    local original=$1 copy=$2 prefix=$3 work=$2.partial
    rm -rf "$work"
    cp -a "$original" "$work"
    PATH=$(dirname "$("$root/hooks/go.sh")"):$PATH
    [ "$(go version)" = "$(sed -n 's/^GO=//p' "$original/mpiimport-build")" ] ||
        die "$EXIT_CANNOT" "$(go version) did not build $original, and plugins must be compiled by the Go that did"
    "$root/plugin/build.sh" "$original/bin/apptainer" "$original.build/source" "$prefix" "$work/mpiimport.sif" \
        >>"$log" 2>&1 </dev/null || fail "the plugin could not be compiled"
    "$work/bin/apptainer" plugin install "$work/mpiimport.sif" >>"$log" 2>&1 </dev/null || fail "the plugin could not be installed"
    rm -rf "$copy"
    mv "$work" "$copy"
}

main() {
    local prefix=$1 original copy key cache
    original=$(dirname "$(dirname "$("$here/apptainer.sh" | tail -n 1)")")
    [ -e "$original/mpiimport-build" ] || die "$EXIT_CANNOT" "$original is the machine's own and has no source tree to compile a plugin in"
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: only root may write in $original.build"
    [ -e "$original.build/source/go.mod" ] || die "$EXIT_CANNOT" "$original.build/source is gone; remove $original to build both anew"
    cache=$(cache_dir)
    key=$(cd "$root" && find hooks plugin -name '*.go' -o -name 'go.*' -o -name build.sh | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-12)
    # One for each installation, made anew when the plugin's sources have changed.
    copy=$cache/plugin-$(content_key "$prefix" "$original")
    log=$copy.log
    lock_cache "${copy##*/}"
    if [ "$(cat "$copy/mpiimport-sources" 2>/dev/null)" != "$key" ]; then
        : >"$log"
        make_copy "$original" "$copy" "$prefix"
        printf '%s\n' "$key" >"$copy/mpiimport-sources"
    fi
    printf '%s\n' "$copy/bin/apptainer"
}

main "$@"
