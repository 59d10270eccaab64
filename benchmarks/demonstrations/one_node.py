"""The demonstration where there is no simulated cluster: 4 ranks on this machine, with path calls counted by strace."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.demonstrations.path_calls import RANKS, RUNS, Figures, Way, compare
from lab.provisioning import provision
from lab.ranks import Mpi, clean_environment

TOOLS = Path(__file__).resolve().parents[2] / "lab" / "tools.sh"
NONE = "-"
KINDS = ["plain", "mpiimport\nfirst run", "mpiimport\nlater runs"]
# What podman.sh of the tests makes.
PODMAN_IMAGE = "localhost/mpiimport-py"
PODMAN_STATE = Path("/run/mpiimport-podman/root")
IMAGE_TREE = [Path(f"/usr{local}/lib/python3{minor}") for local in ("", "/local") for minor in ("", ".11")]
PREFIX_INSIDE = Path("/.mpiimport")


def introduce(console: Console) -> None:
    # Where it cannot install strace it has said so, and nothing is counted.
    subprocess.run([TOOLS], stdin=subprocess.DEVNULL)
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
    fill(table, compare(ways))
    console.print(table)


def show_podman(console: Console, prefix: Path, mpi: Mpi) -> None:
    """Show ranks in containers of podman's, served by the OCI hook. Raises Unavailable."""
    introduce(console)
    settings = Path(provision("podman.sh")) / "root"
    subprocess.run([prefix / "bin" / "mpiimport-plan", "release", "mpich"], stdout=subprocess.DEVNULL, check=True)
    first, *rest = mpi.command(RANKS)
    hooks = prefix / "share" / "containers" / "oci" / "hooks.d" / "podman"
    joined = ["--rm", "--env-host", "--ipc=host", "--net=host", "--pid=host", "--volume", "/tmp:/tmp"]
    # By a port, for podman hands on no descriptor of the launcher's.
    launch = [first, "-pmi-port", *rest, "podman", "--hooks-dir", str(hooks), "run", *joined]
    environment = {
        "HOME": str(Path.home()),
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "MPI4PY_LIBMPI": "/opt/mpich/lib/libmpi.so.12",
        "XDG_RUNTIME_DIR": str(PODMAN_STATE),
        "CONTAINERS_CONF": str(settings / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(settings / "storage.conf"),
    }
    program = [PODMAN_IMAGE, "/usr/bin/python3"]
    flag = ["--annotation", "org.mpiimport.profile=mpich"]
    tree = [*IMAGE_TREE, PREFIX_INSIDE]
    served = [*launch, *flag, *program], {**environment, "MPIIMPORT": "force"}, tree
    ways = [Way([*launch, *program], environment, tree), Way(*served), Way(*served, learned=True)]
    table = new_table("one container of podman's per rank (podman run --annotation org.mpiimport.profile=mpich)", KINDS)
    fill(table, compare(ways))
    console.print(table)


def new_table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def fill(table: Table, figures: list[Figures]) -> None:
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
