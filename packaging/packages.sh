#!/usr/bin/env bash
# packages.sh TARBALL OUTPUT   make a .deb and a .rpm of what the tarball holds, by nfpm
set -euo pipefail

readonly NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
tarball=$(readlink -f "$1") output=$(readlink -f "$2")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go=$(hooks/go.sh)
tar -C "$work" -xf "$tarball"
UNPACKED=$(echo "$work"/mpiimport-*)
VERSION=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' mpiimport/__init__.py)
ARCH=$("$go" env GOARCH)
export UNPACKED VERSION ARCH
for packager in deb rpm; do
    "$go" run "$NFPM" package --config packaging/nfpm.yaml --packager "$packager" --target "$output"
done
