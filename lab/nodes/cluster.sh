#!/usr/bin/env bash
# The first process of a simulated cluster, in namespaces of its own: the network's switch. Says "ready" on stdout; the
# cluster, with all that runs in it, ends with this process, and this process ends when its stdin does.
#
# usage: cluster.sh HOME RUN SHM RATE NAME...
#   HOME  directory that all nodes see      SHM   size of each node's /dev/shm, as for tmpfs
#   RUN   where nodes are registered        RATE  bits per second of a node's link, as for tc; empty: unlimited
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run=$2
names=("${@:5}")

address() { printf '10.77.%d.%d' $(($1 / 250)) $(($1 % 250 + 1)); }
hardware_address() { printf '02:00:0a:4d:%02x:%02x' $(($1 / 250)) $(($1 % 250 + 1)); }

write_hosts() {
    local number
    printf '127.0.0.1 localhost\n'
    for number in "${!names[@]}"; do
        printf '%s %s\n' "$(address "$number")" "${names[number]}"
    done
}

# For `ip -batch`. All namespaces share the kernel's room for neighbours that nodes find out about by themselves, which
# is enough for 31 nodes that all talk to each other.
write_neighbours() {
    local number
    for number in "${!names[@]}"; do
        printf 'neighbour replace %s lladdr %s dev eth0 nud permanent\n' "$(address "$number")" \
            "$(hardware_address "$number")"
    done
}

start_nodes() {
    local number holders=()
    for number in "${!names[@]}"; do
        unshare --mount --net --uts --ipc --propagation private \
            "$here/node.sh" "$1" "$2" "$3" "$4" "${names[number]}" "$(address "$number")" \
            "$(hardware_address "$number")" </dev/null &
        holders+=($!)
    done
    for number in "${!names[@]}"; do
        until [ -e "$run/${names[number]}" ]; do
            # A node that could not be made has said why.
            kill -0 "${holders[number]}" || exit 1
            sleep 0.02
        done
    done
}

write_hosts >"$run/hosts"
write_neighbours >"$run/neighbours"
mount --bind "$run/hosts" /etc/hosts
ip link add switch type bridge
ip link set switch up
start_nodes "$@"
printf 'ready\n'
# A builtin, so that the shell goes on reaping what is orphaned.
while read -r _; do :; done
