"""The demonstration (`make demo`): one program on four nodes of a simulated cluster, plainly and with mpiimport.

Python and images lie on the simulated shared file system. Where there can be no cluster, on one node instead.
"""

import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.demonstrations import one_node
from benchmarks.demonstrations.one_node import NONE, new_table
from benchmarks.demonstrations.path_calls import DemoError
from benchmarks.demonstrations.preparing import NICENESS, Part, begun, finish, prepare
from benchmarks.measuring.command_line import with_prefix
from benchmarks.measuring.containers import Containers, find_containers
from benchmarks.programs.lab_images import PREPARED, PYTHON_INSIDE, SESSION, Launched, Tree, launch, site_of
from lab.cluster import python_tree
from lab.provisioning import Unavailable, provisioned_mpi
from lab.ranks import Mpi

NODES, RANKS = 4, 8
SERVICE_TIME = 0.0004
LAB = Part("simulated file system", ("lab.sh",), 30)
MPI = Part("MPICH", ("mpi.sh",), 30)
RUNTIME = Part("Apptainer, from Debian's source", ("apptainer.sh",), 180)
SANDBOX = Part("sandbox with numpy and scipy", ("images.sh", "py"), 60)
IMAGE_FILE = Part("image file of that sandbox", ("images.sh", "py.sif"), 20)
PODMAN = Part("podman and its image", ("podman.sh",), 120)
ROWS: dict[str, Callable[[dict[str, float]], str]] = {
    "operations on the shared file system": lambda found: f"{found['metadata']:,}",
    "MB read from it": lambda found: f"{found['read_bytes'] / 1e6:,.0f}",
    "wall, until all ranks have imported (s)": lambda found: f"{found['wall']:.1f}",
    "CPU of all nodes (s)": lambda found: NONE if found["cpu"] is None else f"{found['cpu']:.1f}",
}
TITLES = {
    "plain": "plain",
    "first": "mpiimport\nfirst run",
    "later": "mpiimport\nlater runs",
    SESSION: "mpiimport\nin a session",
    PREPARED: "mpiimport\nprepared",
}
TYPED = """
On a real machine, with the same image and script:
    make install PREFIX=/opt/mpiimport
    PATH=/opt/mpiimport/shim:/opt/mpiimport/bin:$PATH
    mpiimport prepare -- mpirun -n 4096 singularity exec --mpiimport img.sif python app.py    # once
    mpirun -n 4096 singularity exec --mpiimport img.sif python app.py
    mpirun -n 4096 python-mpi app.py                                      # without a container
Counts are exact. Walls are of this machine, whose cores all nodes share. More: README.md."""


def main() -> int:
    parser = with_prefix(__doc__)
    parser.add_argument("--picture", type=Path, required=True, metavar="PNG", help="where the time line goes")
    options = parser.parse_args()
    # Trees without pycs are compiled at every start, which is not what users have.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Figures are shown as they come, in a pipe too.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    console, prefix = Console(soft_wrap=True), options.prefix
    try:
        try:
            show_cluster(console, prefix, options.picture)
        except Unavailable as exc:
            console.print(f"No simulated cluster here, so on one node: {exc}", markup=False)
            show_one_node(console, prefix)
    except DemoError as failure:
        print(f"demo: a launch failed with {failure}", file=sys.stderr)
        return 1
    console.print(TYPED, markup=False, highlight=False)
    return 0


def show_cluster(console: Console, prefix: Path, picture: Path) -> None:
    """Show the host's own Python first, then containers as soon as they can be had. Raises Unavailable."""
    # Only this environment has what draws; tests show tables alone.
    from benchmarks.demonstrations.time_line import draw

    console.print(
        f"`import numpy; import scipy.interpolate` by {RANKS} ranks on {NODES} nodes. Python and images lie on a "
        f"simulated shared file system with {SERVICE_TIME * 1e3:g} ms for each metadata operation.",
        highlight=False,
    )
    prepare(console, LAB)
    # What takes longest begins first, and stands still while others are measured.
    with begun(RUNTIME, NICENESS) as runtime:
        prepare(console, MPI)
        mpi = provisioned_mpi()
        bare = Containers(prefix, mpi, Path(), Path(), "")
        with runtime.held():
            launches = {"host Python": show(console, "host Python", Tree(), bare, *python_tree().values())}
        try:
            with begun(SANDBOX) as sandbox:
                finish(console, runtime, sandbox)
            prepare(console, IMAGE_FILE)
            containers = find_containers(prefix, mpi)
        except Unavailable as exc:
            console.print(f"No Apptainer here, so podman: {exc}", markup=False)
            show_podman(console, prefix, mpi)
        else:
            for kind, tree in kinds(containers).items():
                launches[kind] = show(console, kind, tree, containers, containers.images)
    draw({kind: moments(done) for kind, done in launches.items()}, picture)
    console.print(f"The time line of all ranks: {picture}", highlight=False)


def moments(launches: dict[str, Launched]) -> dict[str, list[list[float]]]:
    return {TITLES[way].replace("\n", ", "): launched.moments for way, launched in launches.items()}


def kinds(containers: Containers) -> dict[str, Tree]:
    """Return what is started in containers: as an ordinary user, as most are, where there is one that can mount."""
    return {"SIF image": Tree("py.sif", containers.user), "sandbox directory": Tree("py", containers.user)}


def show(console: Console, kind: str, tree: Tree, containers: Containers, *directories: Path) -> dict[str, Launched]:
    """Launch in all ways, each from cold caches, and print what they cost."""
    started = f"singularity exec --mpiimport=mpich {tree.image} {PYTHON_INSIDE}" if tree.image else "python"
    began = time.monotonic()
    with site_of(NODES, SERVICE_TIME, containers, *directories) as site:
        launches = {way: launch(RANKS, way, tree, site) for way in TITLES}
    table = new_table(f"{kind}: mpiexec -n {RANKS} {started} app.py", [TITLES[way] for way in launches])
    for label, cell in ROWS.items():
        table.add_row(label, *(cell(launched.figures) for launched in launches.values()))
    console.print(table)
    console.print(f"  measured in {time.monotonic() - began:.0f} s", style="dim")
    return launches


def show_one_node(console: Console, prefix: Path) -> None:
    """What needs no root: the host's Python on this machine, by the MPI in this virtual environment."""
    one_node.introduce(console)
    mpi = Mpi("mpich", Path(sys.prefix), Path(sys.prefix) / "lib" / "libmpi.so.12")
    one_node.show_host(console, prefix, mpi)
    one_node.explain(console)


def show_podman(console: Console, prefix: Path, mpi: Mpi) -> None:
    """What needs root and no Apptainer: containers on this machine. One line where there is no podman either."""
    try:
        prepare(console, PODMAN)
        one_node.show_podman(console, prefix, mpi)
    except Unavailable as exc:
        console.print(f"No podman either: {exc}", markup=False)


if __name__ == "__main__":
    sys.exit(main())
