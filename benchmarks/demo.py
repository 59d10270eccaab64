"""The demonstration (`make demo`): one script, plain and with mpiimport, on 4 ranks, on the host and in images."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import images
from benchmarks.measure import RANKS, RUNS, DemoError, Figures, Way, compare
from tests.lab.ranks import Mpi, clean_environment

NONE = "-"
KINDS = ["plain", "mpiimport\nfirst run", "mpiimport\nlater runs"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True, help="an installed mpiimport (make install)")
    prefix = parser.parse_args().prefix.resolve()
    # Trees without pycs are compiled at every start, which is not what users have.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    console = Console(soft_wrap=True)
    mpi = Mpi("mpich", Path(sys.prefix), Path(sys.prefix) / "lib" / "libmpi.so.12")
    introduce(console)
    try:
        show_host(console, prefix, mpi)
        show_images(console, prefix, mpi)
    except DemoError as exc:
        print(f"demo: a launch failed with {exc}", file=sys.stderr)
        return 1
    explain(console)
    return 0


def introduce(console: Console) -> None:
    console.print(
        f"`import numpy; import scipy.interpolate`, then a barrier, on {RANKS} ranks; wall: median of {RUNS} runs."
    )
    console.print(
        "MPIIMPORT=force is set: one node that reads its own file system gains nothing, and mpiimport would step aside."
    )
    if not shutil.which("strace"):
        console.print("strace not found, so path calls are not counted: apt-get install strace")


def show_host(console: Console, prefix: Path, mpi: Mpi) -> None:
    start = prefix / "lib" / "mpiimport" / "start.py"
    # Not the whole of the virtual environment: its lib also holds the MPI, whose own libraries are not counted.
    venv = [Path(sys.prefix) / name for name in ("bin", "pyvenv.cfg", f"lib/python3.{sys.version_info.minor}")]
    tree = [*venv, Path(sys.base_prefix), prefix]
    command = [*mpi.command(RANKS), sys.executable]
    early = [*command, "-S", str(start)]
    # As on a shared file system; on its own a node copies no libraries.
    served = early, clean_environment(MPIIMPORT="force", MPIIMPORT_LIBRARIES="stage"), tree
    ways = [Way(command, clean_environment(), tree), Way(*served), Way(*served, learned=True)]
    ways.append(Way(early, clean_environment(MPIIMPORT="force"), tree, learned=True))
    table = new_table("host Python tree", [*KINDS, "later runs,\nlibraries direct"])
    fill(table, compare(ways), squashfuse=False)
    console.print(table)


def show_images(console: Console, prefix: Path, mpi: Mpi) -> None:
    console.print(
        "In an image: looking for a container runtime and the test images (building them takes minutes, once) ..."
    )
    try:
        containers = images.find(prefix, mpi)
    except images.Unavailable as exc:
        console.print(f"The image part is left out: {exc}")
        return
    for kind, image, user in ("sandbox", "py", ""), ("SIF", "py.sif", containers.user):
        table = new_table(f"{kind}, one container per rank ({containers.runtime.name} exec --mpiimport=mpich)", KINDS)
        fill(table, compare(containers.ways(image, user, RANKS)), squashfuse=kind == "SIF")
        console.print(table)
    if not containers.user:
        console.print("No ordinary user here can mount a SIF by squashfuse: the SIF ran as the caller.")


def new_table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def fill(table: Table, figures: list[Figures], squashfuse: bool) -> None:
    rows: list[tuple[str, Callable[[Figures], str]]] = [
        ("wall, launch to barrier (s)", lambda found: f"{found.wall:.2f}"),
        ("path calls on the tree: root", lambda found: calls(found, "root")),
        ("  another rank (largest)", lambda found: calls(found, "other")),
        ("  of which after activation", lambda found: calls(found, "activated")),
        ("modules served per rank", lambda found: span(found.served)),
        ("bytes in the store", lambda found: reported(found, "bytes_stored")),
        ("bytes broadcast", lambda found: reported(found, "bytes_broadcast")),
        ("copies per node", lambda found: reported(found, "copies")),
    ]
    if squashfuse:
        rows.append(
            ("squashfuse CPU, all ranks (s)", lambda found: f"{found.squashfuse:.2f}" if found.squashfuse else NONE)
        )
    for label, cell in rows:
        table.add_row(label, *map(cell, figures))


def calls(found: Figures, name: str) -> str:
    if found.calls is None:
        return "strace not found"
    number = getattr(found.calls, name)
    return NONE if number is None else f"{number:,}"


def span(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def reported(found: Figures, key: str) -> str:
    return f"{found.report[key]:,}" if key in found.report else NONE


def explain(console: Console) -> None:
    console.print(
        "Path calls (by all threads; mpiimport's files and directories above the tree included, MPI's libraries not) "
        "are counted facts. On one node with a warm local file system the wall gets worse, for all wait while root "
        "reads; one store leaves nobody to broadcast to."
    )
    console.print(
        "More: README.md (use and limits), docs/profiles.md (machines), `python -m mpiimport -v` (each module)."
    )


if __name__ == "__main__":
    sys.exit(main())
