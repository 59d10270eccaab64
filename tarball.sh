#!/usr/bin/env bash
# tarball.sh PARTS OUTPUT   pack what a machine without network and without Go installs from; its install.sh does so
# MACHINE: for what the parts are built, where it is not this machine.
set -euo pipefail
umask 022

parts=$1 output=$2
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$here/mpiimport/__init__.py")
name=mpiimport-$version-linux-${MACHINE:-$(uname -m)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$output" "$work/$name/hooks"
cp -RL "$here"/{install.sh,README.md,CHANGELOG.md,LICENSE,docs,mpiimport,spank} "$parts"/{bin,wheels} "$work/$name"
if [[ -d $parts/restorer ]]; then cp -RL "$parts/restorer" "$work/$name"; fi
cp -R "$here/hooks/hooks.d" "$work/$name/hooks"
rm -f "$work/$name"/wheels/.*.fetched
chmod -R u=rwX,go=rX "$work/$name"
# The wheels, nearly all of it, are compressed already.
tar -C "$work" --exclude=__pycache__ --owner=0 --group=0 --sort=name -cf - "$name" | gzip -1 >"$output/$name.tar.gz.new"
mv "$output/$name.tar.gz.new" "$output/$name.tar.gz"
