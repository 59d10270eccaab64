#!/usr/bin/env bash
# Makes the namespaces that it was started in a node of the simulated cluster, and holds them.
#
# usage: node.sh HOME RUN SHM RATE NAME ADDRESS HARDWARE-ADDRESS   (as cluster.sh)
set -euo pipefail
home=$1 run=$2 shm=$3 rate=$4 name=$5 address=$6 hardware_address=$7
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

join_network() {
    ip link set lo up
    # The first process of the cluster holds the switch.
    ip link add eth0 address "$hardware_address" type veth peer name "$name" netns 1
    nsenter --target 1 --net ip link set "$name" master switch up
    ip address add "$address/16" dev eth0
    ip link set eth0 up
    ip -batch "$run/neighbours"
    [ -z "$rate" ] || limit
}

# Both ends of the link, so that it is limited in both directions.
limit() {
    tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 50ms
    nsenter --target 1 --net tc qdisc add dev "$name" root tbf rate "$rate" burst 256kb latency 50ms
}

# Only the node's own network devices are to be seen in /sys. What all nodes see may lie in /tmp, and stays: HOME with
# RUN in it, and these sources with what is built there.
mount_own() {
    local place descriptor kept=() places=()
    mount -t sysfs sysfs /sys
    mount -t tmpfs -o "size=$shm,mode=1777" shm /dev/shm
    for place in "$sources" "$home"; do
        [[ $place == /tmp/* ]] || continue
        exec {descriptor}<"$place"
        kept+=("$descriptor")
        places+=("$place")
    done
    mount -t tmpfs -o mode=1777 tmp /tmp
    for place in "${!places[@]}"; do
        mkdir -p "${places[place]}"
        descriptor=${kept[place]}
        mount --no-canonicalize --bind "/proc/self/fd/$descriptor" "${places[place]}"
        exec {descriptor}<&-
    done
}

hostname "$name"
join_network
mount_own
echo $$ >"$run/$name.new"
mv "$run/$name.new" "$run/$name"
exec sleep infinity
