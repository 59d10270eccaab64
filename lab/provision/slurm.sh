#!/usr/bin/env bash
# Installs Debian's Slurm, and the PMIx library for `srun --mpi=pmix`; the tests start daemons of their own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    is_debian || die "$EXIT_CANNOT" "this is not Debian: Slurm comes from its packages"
    [ "$(id -u)" = 0 ] || die "$EXIT_CANNOT" "not root: slurmd starts jobs for other users"
    # The plugin opens libpmix.so without a version, which only the development package has.
    # libslurm-dev is for the plugin.
    apt_ensure slurmctld slurmd slurm-client munge libpmix-dev libslurm-dev
}

main "$@"
