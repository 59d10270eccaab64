"""The lab for people, as root: a command in it, and what the simulated file system had to do.

python -m lab filesystem DIRECTORY MOUNTPOINT... [OPTION...] [--command WORD...]
python -m lab cluster [OPTION...] [--command WORD...]

Without a command a shell is opened. On a cluster it runs on the node "login", where `rsh NODE COMMAND` runs one on
another node.
"""

import argparse
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from .cluster import LOGIN, Cluster
from .filesystem import NO_CACHING, Caching, Counts, Load, SharedFileSystem
from .provisioning import CANNOT, Unavailable


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--service-time", type=float, default=0.2, metavar="MS", help="of a metadata operation (0.2)")
    shared.add_argument("--bandwidth", type=float, default=0, metavar="MB/S", help="of all reads together (no limit)")
    shared.add_argument("--no-caching", action="store_true", help="clients ask the server every time")
    shared.add_argument("--record", type=Path, help="write each operation to this file")
    shared.add_argument("--command", nargs=argparse.REMAINDER, help="the rest of the line; default: a shell")
    kinds = parser.add_subparsers(required=True)
    filesystem = kinds.add_parser("filesystem", parents=[shared], help="mount a directory, once for each client")
    filesystem.set_defaults(run=run_beside_mounts)
    filesystem.add_argument("directory", type=Path, help="what the file system holds")
    filesystem.add_argument("mountpoint", type=Path, nargs="+", help="where a client shows it")
    cluster = kinds.add_parser("cluster", parents=[shared], help="run on a simulated cluster")
    cluster.set_defaults(run=run_on_cluster)
    cluster.add_argument("--nodes", type=int, default=4)
    cluster.add_argument("--home", type=Path, help="a directory that all nodes see, even in /tmp (one of its own)")
    cluster.add_argument("--rate", default="", help="of each node's link, as for tc: 1gbit (no limit)")
    cluster.add_argument(
        "--share", type=Path, action="append", default=[], help="a directory to lie on the file system; repeatable"
    )
    options = parser.parse_args()
    options.command = options.command or [os.environ.get("SHELL", "/bin/sh")]
    caching = NO_CACHING if options.no_caching else Caching()
    bandwidth = int(options.bandwidth * 1e6)
    try:
        with SharedFileSystem(options.service_time / 1e3, bandwidth, caching, options.record) as simulated:
            status: int = options.run(simulated, options)
            show(simulated.load())
    except Unavailable as exc:
        print(f"lab: {exc}", file=sys.stderr)
        return CANNOT
    return status


def run_beside_mounts(simulated: SharedFileSystem, options: argparse.Namespace) -> int:
    for mountpoint in options.mountpoint:
        simulated.mount(str(mountpoint), options.directory.resolve(), mountpoint.resolve())
    return subprocess.run(options.command).returncode


def run_on_cluster(simulated: SharedFileSystem, options: argparse.Namespace) -> int:
    home = options.home and options.home.resolve()
    with Cluster(options.nodes, home, rate=options.rate) as cluster:
        cluster.share(simulated, *(directory.resolve() for directory in options.share))
        path = f"{cluster.tools}:{os.environ['PATH']}"
        return subprocess.run(cluster.on(LOGIN, options.command), env={**os.environ, "PATH": path}).returncode


def show(load: Load) -> None:
    """Print what each client asked for, and how long the server took."""
    for name, counts in load.clients.items():
        asked = ((item.name, getattr(counts, item.name)) for item in fields(Counts))
        print(f"{name}: {counts.metadata:,} metadata operations;", *(f"{name} {count:,}" for name, count in asked))
    print(f"server busy: metadata {load.metadata_busy:.3f} s, data {load.data_busy:.3f} s")


if __name__ == "__main__":
    sys.exit(main())
