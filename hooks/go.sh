#!/usr/bin/env bash
# Print the path of a Go that can build this module: the machine's, else Debian's backport, installed when root.
set -euo pipefail

new_enough() {
    [[ -x $1 ]] && [[ $(printf '%s\n' go1.23.5 "$("$1" env GOVERSION)" | sort -V | head -n 1) == go1.23.5 ]]
}

for candidate in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go-1.{26,25,24,23}/bin/go; do
    if [[ -n $candidate ]] && new_enough "$candidate"; then
        echo "$candidate"
        exit
    fi
done
if [[ -e /etc/debian_version && $(id -u) == 0 ]]; then
    # shellcheck disable=SC1091
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME-backports")
    # shellcheck disable=SC2016
    site=$(apt-get indextargets --format '$(SITE)' | head -n 1)
    list=/etc/apt/sources.list.d/mpiimport-backports.list
    echo "deb $site $suite main" >"$list"
    if apt-get update -qq >&2 && apt-get install -qq -y -t "$suite" golang-1.23-go >&2; then
        echo /usr/lib/go-1.23/bin/go
        exit
    fi
    rm -f "$list"
fi
echo "go.sh: no Go 1.23.5 or newer on PATH or in /usr/local/go; install one (on Debian 12: golang-1.23-go from backports)" >&2
exit 1
