#!/usr/bin/env bash
# build.sh RUNTIME SOURCE PREFIX OUTPUT   compile the plugin for this apptainer or singularity
# SOURCE is the tree that RUNTIME was built in, where it lay then; PATH must have the Go that built it. PREFIX is where
# mpiimport is installed on the machines that load the plugin.
set -euo pipefail

runtime=$1 source=$(cd "$2" && pwd -P) prefix=$3 output=$(realpath -m "$4")
here=$(cd "$(dirname "$0")" && pwd -P)

die() {
    echo "build.sh: $*" >&2
    exit 1
}

case $(sed -n 's/^module //p' "$source/go.mod" 2>/dev/null) in
    github.com/apptainer/apptainer) adapter=apptainer ;;
    github.com/sylabs/singularity/v4) adapter=singularityce ;;
    *) die "$source is no source tree of Apptainer or SingularityCE 4" ;;
esac

# The runtime compiles only what lies in its own tree, as part of its own module.
inside=$(mktemp -d "$source/mpiimport-XXXXXX")
workspace=$(mktemp -d)
trap 'rm -rf "$inside" "$workspace"' EXIT
cp "$here/$adapter"/*.go "$inside"
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$here/../mpiimport/__init__.py")
cat >"$inside/installation.go" <<GO
package main

const (
	prefix  = "$prefix"
	version = "$version"
)
GO
# The workspace lies outside of the tree, so that nothing in there changes.
printf 'go %s\n\nuse (\n\t%s\n\t%s\n)\n' "$(sed -n 's/^go //p' "$source/go.mod")" "$source" "$here/../hooks" >"$workspace/go.work"
[[ ! -e $source/go.sum ]] || cp "$source/go.sum" "$workspace/go.work.sum"
mkdir -p "$(dirname "$output")"
# In a workspace Go refuses -mod=mod, which the runtime itself may have been built with.
GOWORK=$workspace/go.work GOFLAGS=-buildvcs=false GOTOOLCHAIN=local "$runtime" plugin compile -o "$output" "$inside" >&2
echo "$output"
