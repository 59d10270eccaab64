"""Wall and CPU of whole jobs, with one container for each rank and with one for all ranks of a node.

    python -m benchmarks.programs.one_container_per_node --prefix build/prefix --output results.json

The ways take turns, so that a machine that gets slower is slower for all. ``cpu`` counts every process of a job, what
mounts images included, by a control group of its own; it is null where this user cannot make one.
"""

import itertools
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measuring.command_line import end_with, options_of
from benchmarks.measuring.containers import Containers, find_containers
from benchmarks.measuring.control_group import group, into, seconds_of
from benchmarks.measuring.machine import describe
from benchmarks.measuring.prepared import prepare
from benchmarks.workloads import WORKLOADS
from lab.provisioning import provisioned_mpi
from lab.ranks import run

IMAGES = {"sandbox": "py", "sif": "py.sif"}
# SCRIPT stands for a file with the imports of the first workload, and of MPI.
SCRIPT = "app.py"
PROGRAMS = {
    "true": ["/bin/true"],
    "mpi4py": ["/usr/bin/python3", "-c", "from mpi4py import MPI"],
    "scipy": ["/usr/bin/python3", SCRIPT],
}
# The runtime without us, and with us by a profile that makes one container per rank, or one per node; of a script the
# last one from a snapshot, too.
WAYS = ("plain", "per-rank", "per-node")
PREPARED = "prepared, per-node"
PROFILE = (
    "schema_version: 1\nname: {name}\ndescription: a benchmark\nextends: mpich\ncontainer: {{per_node: {value}}}\n"
)
SECONDS, SETTLED = 300, 3.0
LIBRARY = "snapshots"


@dataclass(frozen=True)
class Case:
    image: str
    identity: str
    ranks: int
    program: str


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--images", nargs="+", choices=IMAGES, default=list(IMAGES))
    arguments = parser.parse_args()
    prefix = arguments.prefix
    mpi = provisioned_mpi()
    containers = find_containers(prefix, mpi)
    identities = ["root"] * (os.geteuid() == 0) + ["user"] * bool(containers.user)
    cases = [
        Case(*values) for values in itertools.product(arguments.images, identities, arguments.ranks, arguments.programs)
    ]
    result = {
        "machine": describe(
            prefix, runtime=[containers.runtime, "--version"], mpi=[mpi.prefix / "bin" / "mpichversion"]
        ),
        "results": [measure(containers, case, arguments.rounds) for case in cases],
    }
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")


def measure(containers: Containers, case: Case, rounds: int) -> dict[str, object]:
    with TemporaryDirectory(prefix="mpiimport-bench-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        for way, value in (("per-rank", "false"), ("per-node", "true")):
            (directory / f"{way}.yaml").write_text(PROFILE.format(name=way, value=value))
        ways: tuple[str, ...] = WAYS
        if SCRIPT in PROGRAMS[case.program]:
            (directory / SCRIPT).write_text(f"{WORKLOADS['scipy'].imports}\nfrom mpi4py import MPI\n")
            time.sleep(SETTLED)
            ways = (*WAYS, PREPARED)
            library = directory / LIBRARY
            library.mkdir(0o700)
            shutil.chown(library, user_of(containers, case))
            job = command_of(containers, case, PREPARED, directory)
            environment = containers.environment(user_of(containers, case)) | library_in(directory)
            prepare(containers.prefix, containers.mpi, job, environment, tuple(identity_of(containers, case)))
        runs = [{way: launch(containers, case, way, directory) for way in ways} for _ in range(rounds)]
    figures = {way: {what: [run[way][what] for run in runs] for what in ("wall", "cpu")} for way in ways}
    print(case, figures, file=sys.stderr, flush=True)
    return {**vars(case), "ways": figures}


def command_of(containers: Containers, case: Case, way: str, directory: Path) -> list[str]:
    """Return what the launcher of a job starts in one of the ways."""
    runtime = containers.runtime if way == "plain" else containers.prefix / "shim" / containers.runtime.name
    profile = directory / f"{'per-node' if way == PREPARED else way}.yaml"
    flags = [] if way == "plain" else [f"--mpiimport={profile}"]
    program = [str(directory / word) if word == SCRIPT else word for word in PROGRAMS[case.program]]
    image = str(containers.images / IMAGES[case.image])
    return [str(runtime), "exec", *flags, image, *program]


def library_in(directory: Path) -> dict[str, str]:
    return {"MPIIMPORT_SNAPSHOTS": str(directory / LIBRARY)}


def user_of(containers: Containers, case: Case) -> str:
    return containers.user if case.identity == "user" else "root"


def identity_of(containers: Containers, case: Case) -> list[str]:
    user = user_of(containers, case)
    return [] if user == "root" else ["runuser", "-u", user, "--"]


def launch(containers: Containers, case: Case, way: str, directory: Path) -> dict[str, float | None]:
    """Run one job; seconds of wall until mpiexec ends, and of CPU until nothing of the job is left."""
    job = [*containers.mpi.command(case.ranks), *command_of(containers, case, way, directory)]
    environment = containers.environment(user_of(containers, case)) | (library_in(directory) if way == PREPARED else {})
    with group() as members:
        started = time.monotonic()
        outcome = run([*into(members), *identity_of(containers, case), *job], environment, SECONDS, directory)
        wall = time.monotonic() - started
        if outcome.status != 0 or outcome.ours():
            sys.exit(f"{' '.join(job)}: status {outcome.status}\n{outcome.stderr[-2000:]}")
        return {"wall": round(wall, 3), "cpu": round(seconds_of(members), 3) if members else None}


if __name__ == "__main__":
    end_with(main)
