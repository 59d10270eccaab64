"""What an image saves the shared file system and what it costs the nodes, with mpiimport and without.

    python -m benchmarks.programs.lab_images --prefix build/prefix --output results.json

In the lab: the host's Python tree without a container, a sandbox directory, and a SIF that the kernel mounts (as root)
or squashfuse (an ordinary user), one container for each rank; all of them lie on the shared file system, what starts
them does not. Writes JSON: operations and bytes, which are exact, seconds of CPU of the whole job, squashfuse
included, and of wall from the launch to a barrier after the imports, on cold caches.
"""

import argparse
import dataclasses
import json
import os
import pwd
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measuring.command_line import add_service_time, end_with, options_of
from benchmarks.measuring.containers import Containers, find_containers
from benchmarks.measuring.contenders import SECONDS
from benchmarks.measuring.control_group import group, into, seconds_of
from benchmarks.measuring.local_jobs import SERVED
from benchmarks.measuring.machine import describe
from benchmarks.measuring.prepared import prepare_on_shared
from benchmarks.measuring.sessions import ATTACHING, keep_on_all_nodes
from benchmarks.workloads import WORKLOADS
from lab.cluster import Cluster, ClusterMpi, python_tree
from lab.filesystem import SharedFileSystem
from lab.provisioning import provision, provisioned_mpi
from lab.ranks import clean_environment, run

TREES = ("host", "sandbox", "SIF, kernel", "SIF, squashfuse")
SIZES = ["2x1", "2x2", "8x1", "8x4"]
# A job of a session: every node keeps a store for it.
SESSION = "session"
# A job of a program of which a snapshot was prepared, with the ordinary command.
PREPARED = "prepared"
# The same behind `mpiimport run`, which looks for all nodes at what the snapshot depends on.
LOOKED_AT = "prepared, run"
SAID = "mpiimport: from a snapshot"
SNAPSHOTS = (PREPARED, LOOKED_AT)
WAYS = ("plain", "first", "later", SESSION, PREPARED)
# A plain job that imports nothing but MPI: no way by which imports come can cost less.
ALONE = "mpi alone"
PYTHON_INSIDE = "/usr/bin/python3"
# By which python-mpi finds this Python.
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
BEGUN = "import time; begun = time.monotonic()"
PROGRAM = f"""
{BEGUN}
{WORKLOADS["scipy"].imports}
imported = time.monotonic()
with open("/proc/self/maps") as maps:
    has_mpi = "libmpi" in maps.read()
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
now = time.monotonic()
import os, sys
{SERVED}
born = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
born += time.monotonic() - time.clock_gettime(time.CLOCK_BOOTTIME)
is_restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
found = MPI.COMM_WORLD.gather((is_served("numpy") or is_restored, has_mpi, [born, begun, imported, now]))
if MPI.COMM_WORLD.rank == 0:
    import json; print(json.dumps(dict(zip(("served", "has_mpi", "moments"), zip(*found)))))
"""
ALONE_PROGRAM = PROGRAM.replace(WORKLOADS["scipy"].imports, "").replace('is_served("numpy")', "False")
# The clock belongs to one run, so this one asks for it behind its imports, as programs do that are not measured.
PREPARED_PROGRAM = PROGRAM.replace(BEGUN, "import time").replace("imported = ", "begun = imported = ")
APP = "app.py"
PROGRAMS = {**dict.fromkeys(SNAPSHOTS, ("prepared.py", PREPARED_PROGRAM)), ALONE: ("alone.py", ALONE_PROGRAM)}
PLAIN_WAYS = ("plain", ALONE)
# What is imported is sent by MPI, which all other ways leave to the program.
SENT = ("first", "later")


@dataclasses.dataclass(frozen=True)
class Tree:
    """Where Python comes from. ``image``: below the directory of images, empty for none; ``mounts``: who mounts it,
    the caller where it is empty."""

    image: str = ""
    user: str = ""


@dataclasses.dataclass(frozen=True)
class Site:
    shared: SharedFileSystem
    cluster: Cluster
    mpi: ClusterMpi
    containers: Containers
    directories: tuple[Path, ...]


@dataclasses.dataclass(frozen=True)
class Launched:
    """What one launch cost. ``moments``, of each rank and in seconds since the launch: its Python was born, its program
    began, had imported, and had met all others."""

    figures: dict[str, Any]
    moments: list[list[float]]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="RANKSxNODES", help=f"({' '.join(SIZES)})")
    parser.add_argument("--trees", nargs="+", default=TREES, choices=TREES, help="where Python lies (all)")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=(*WAYS, LOOKED_AT, ALONE), help="what jobs get")
    add_service_time(parser)
    arguments = parser.parse_args()
    prefix = arguments.prefix
    provision("lab.sh")
    containers = find_containers(prefix, provisioned_mpi())
    machine = describe(prefix, runtime=[containers.runtime, "--version"])
    result: dict[str, Any] = {"machine": machine, "service_time": arguments.service_time / 1e3, "runs": []}
    for size in arguments.sizes:
        ranks, nodes = map(int, size.split("x"))
        for found in measure(ranks, nodes, arguments, containers):
            result["runs"].append({"ranks": ranks, "nodes": nodes, **found})
            print(line(result["runs"][-1]), file=sys.stderr, flush=True)
            arguments.output.write_text(json.dumps(result, indent=1) + "\n")


def trees(containers: Containers) -> dict[str, Tree]:
    found = [Tree(), Tree("py"), Tree("py.sif"), Tree("py.sif", containers.user or "nobody")]
    return dict(zip(TREES, found, strict=True))


def measure(ranks: int, nodes: int, arguments: argparse.Namespace, containers: Containers) -> Iterator[dict[str, Any]]:
    directories = *python_tree().values(), containers.images
    with site_of(nodes, arguments.service_time / 1e3, containers, *directories) as site:
        for kind, tree in trees(containers).items():
            if kind not in arguments.trees:
                continue
            if tree.user == "nobody":
                yield {"tree": kind, "missing": "no ordinary user here can mount a SIF by squashfuse"}
                continue
            for way in arguments.ways:
                yield {"tree": kind, "way": way, **launch(ranks, way, tree, site).figures}


@contextmanager
def site_of(nodes: int, service_time: float, containers: Containers, *directories: Path) -> Iterator[Site]:
    """Make a cluster whose nodes see ``directories`` on the shared file system."""
    with (
        tempfile.TemporaryDirectory(prefix="lab-images-") as name,
        SharedFileSystem(service_time) as shared,
        Cluster(nodes, Path(name)) as cluster,
    ):
        # An ordinary user reads the program, and learns manifests in directories that it owns.
        Path(name).chmod(0o755)
        for name, text in ((APP, PROGRAM), *PROGRAMS.values()):
            (cluster.home / name).write_text(text)
        library_of(cluster).mkdir()
        cluster.share(shared, library_of(cluster), *directories)
        yield Site(shared, cluster, cluster.mpi(containers.mpi), containers, directories)


def library_of(cluster: Cluster) -> Path:
    """Return the directory of users' libraries. Nodes see it as the shared file system shows it."""
    return cluster.home / "snapshots"


def launch(ranks: int, way: str, tree: Tree, site: Site) -> Launched:
    """Run the program once, from cold caches, and return what it cost.

    A session is begun for it, or its snapshot prepared if it is not there; neither is counted.
    """
    site.shared.remount()
    user = tree.user or pwd.getpwuid(os.geteuid()).pw_name
    manifests = site.cluster.home / f"manifests-{tree.image}-{user}"
    if way == "first":
        manifests.mkdir()
        shutil.chown(manifests, user)
    words = words_in_container(way, tree, site) if tree.image else words_on_host(way, site)
    asked = {} if way in (*PLAIN_WAYS, *SNAPSHOTS) else {"MPIIMPORT": "force", "MPIIMPORT_MANIFESTS": str(manifests)}
    asked |= ATTACHING if way == SESSION else {}
    library = library_of(site.cluster) / f"{tree.image or 'host'}-{user}"
    asked |= {"MPIIMPORT_SNAPSHOTS": str(library)} if way in SNAPSHOTS else {}
    own = site.containers.environment(user) if tree.image else {"MPI4PY_LIBMPI": str(site.mpi.library), "PATH": PATH}
    words.append(str(site.cluster.home / PROGRAMS.get(way, (APP,))[0]))
    environment = clean_environment(**own, **asked)
    if way == SESSION:
        keep_on_all_nodes(site.mpi, words, environment, site.cluster.home)
        site.shared.remount()
    if way in SNAPSHOTS and not library.exists():
        library.mkdir(0o700)
        shutil.chown(library, user)
        before, of_containers = tuple(as_user(tree)), site.containers
        program = words[len(before) :]
        shown = site.directories, site.cluster.home
        prepare_on_shared(*shown, of_containers.prefix, of_containers.mpi, program, environment, before)
        site.shared.remount()
    with group() as members:
        command = [*into(members), *launcher(ranks, way, site), *words]
        began = time.monotonic()
        outcome = run(command, environment, SECONDS, site.cluster.home)
        if outcome.status != 0 or outcome.ours() != ([SAID] if way == LOOKED_AT else []):
            sys.exit(f"{' '.join(command)}: status {outcome.status}\n{outcome.stdout[-1000:]}{outcome.stderr[-4000:]}")
        cpu = round(seconds_of(members), 3) if members else None
    said = json.loads(outcome.stdout)
    if set(said["served"]) != {way not in PLAIN_WAYS} or set(said["has_mpi"]) != {way in SENT}:
        sys.exit(f"lab_images: {tree}, {way}: served {said['served']}, with MPI before the program {said['has_mpi']}")
    counts = site.shared.load().total
    moments = [[moment - began for moment in rank] for rank in said["moments"]]
    figures = {
        "metadata": counts.metadata,
        "reads": counts.reads,
        "read_bytes": counts.read_bytes,
        "cpu": cpu,
        "wall": round(moments[0][-1], 3),
        "load_average": os.getloadavg()[0],
    }
    return Launched(figures, moments)


def launcher(ranks: int, way: str, site: Site) -> list[str]:
    """Return the words in front of those of each rank. `mpiimport run` is on a node: it is to see what nodes do."""
    if way != LOOKED_AT:
        return site.mpi.command(ranks)
    enter = site.cluster.on(site.cluster.nodes[0])
    command = dataclasses.replace(site.mpi, enter=[]).command(ranks)
    return [*enter, str(site.containers.prefix / "bin" / "mpiimport"), "run", "--", *command]


def words_on_host(way: str, site: Site) -> list[str]:
    start = site.containers.prefix / "lib" / "mpiimport" / "start.py"
    if way in SNAPSHOTS:
        return [str(site.containers.prefix / "bin" / "python-mpi")]
    return [sys.executable, *([] if way in PLAIN_WAYS else ["-S", str(start)])]


def as_user(tree: Tree) -> list[str]:
    return ["setpriv", f"--reuid={tree.user}", f"--regid={tree.user}", "--init-groups"] if tree.user else []


def words_in_container(way: str, tree: Tree, site: Site) -> list[str]:
    """The launcher's daemons run as we do: where another user mounts images, each rank becomes that user first."""
    runtime = site.containers.runtime
    begun = (
        [str(runtime), "exec"]
        if way in PLAIN_WAYS
        else [str(site.containers.prefix / "shim" / runtime.name), "exec", "--mpiimport=mpich"]
    )
    return [*as_user(tree), *begun, str(site.containers.images / tree.image), PYTHON_INSIDE]


def line(found: dict[str, Any]) -> str:
    name = f"{found['ranks']} ranks on {found['nodes']} nodes, {found['tree']}"
    if "missing" in found:
        return f"{name}: {found['missing']}"
    return (
        f"{name}, {found['way']}: {found['metadata']:,} operations, {found['read_bytes'] / 1e6:.0f} MB, "
        f"CPU {found['cpu']} s, wall {found['wall']:.1f} s"
    )


if __name__ == "__main__":
    end_with(main)
