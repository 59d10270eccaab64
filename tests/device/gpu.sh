#!/usr/bin/env bash
# gpu.sh PREFIX PYTHON: on a node with an NVIDIA GPU, where the Python of this path has numpy and PyTorch for CUDA: a snapshot is
# made, four processes start from it, each on its device, and compute as plainly, with as much memory of the device.
set -euo pipefail
prefix=$1 python=$2 ranks=4
[[ -e /dev/nvidiactl ]] || { echo "gpu.sh: no NVIDIA driver is here" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MPIIMPORT_SNAPSHOTS=$work/snapshots PATH=${python%/*}:$prefix/bin:$PATH
devices=$(nvidia-smi -L | wc -l)

cat >"$work/app.py" <<'PROGRAM'
import json, numpy
import torch
print(json.dumps({"imported": sorted({line.split()[-1] for line in open("/proc/self/maps") if "libcuda.so" in line})}))
there = torch.ones(512, 512, device="cuda") * 3
free, total = torch.cuda.mem_get_info()
print((there @ there).sum().item(), torch.cuda.device_count(), torch.cuda.get_device_properties(0).uuid, (total - free) >> 24)
PROGRAM

# Each in its turn, so that memory of a device is that of one process.
each() {
    for ((rank = 0; rank < ranks; rank++)); do
        CUDA_VISIBLE_DEVICES=$((rank % devices)) "$@" "$work/app.py"
    done
}
mpiimport prepare -- python-mpi "$work/app.py" >"$work/prepared"
mpiimport snapshot show "$work/app.py"
each "$python" >"$work/plain"
MPIIMPORT_VERBOSE=1 each python-mpi >"$work/restored" 2>"$work/said"
cat "$work/said" "$work/plain"
diff "$work/plain" "$work/restored"
[[ $(grep -c "from a snapshot" "$work/said") = "$ranks" ]]
echo "gpu.sh: all is well on $devices devices"
