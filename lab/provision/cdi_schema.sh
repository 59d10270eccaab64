#!/usr/bin/env bash
# Prints DIR (last line of stdout), which holds what the Container Device Interface's own releases check
# specifications with: DIR/VERSION/schema.json and defs.json.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

# The last of the releases in use: podman 4, Docker 25 and SingularityCE 4.0, SingularityCE 4.1 and newer.
readonly MODULES=(github.com/container-orchestrated-devices/container-device-interface@v0.5.4
    github.com/container-orchestrated-devices/container-device-interface@v0.6.2
    tags.cncf.io/container-device-interface@v0.7.2)

fetch() {
    local module=$1 target=$2 source
    source=$(cd "$work" && "$go" mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    [ -n "$source" ] || die 1 "go could not fetch $module"
    mkdir -p "$target"
    install -m 644 "$source/schema/schema.json" "$source/schema/defs.json" "$target"
}

main() {
    local cache directory module
    cache=$(cache_dir)
    directory=$cache/cdi-schema-$(content_key "${BASH_SOURCE[0]}")
    lock_cache cdi-schema
    if [ ! -d "$directory" ]; then
        go=$("$here/../../hooks/go.sh")
        work=$directory.partial
        rm -rf "$work"
        mkdir "$work"
        for module in "${MODULES[@]}"; do fetch "$module" "$work/${module##*@v}"; done
        mv "$work" "$directory"
    fi
    printf '%s\n' "$directory"
}

main "$@"
