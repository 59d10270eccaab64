"""Scripts in the manner of those that people publish, in ``scripts``: how each is started, and what a start imports."""

import json
import os
import re
import shutil
import socket
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lab.ranks import Mpi, Outcome, run
from tests.conftest import environment_with, settle

from .baked import Baked

SCRIPTS = Path(__file__).with_name("scripts")
RANKS = 2
SECONDS = 300
# MPI is started by its import, and in each process: no snapshot holds that.
OF_MPI = "mpi4py"
IMPORT_TIME = re.compile(r"import time: +(\d+) \| +\d+ \| +(\S+)\n")
# Each rank has streams of its own.
APART = ("bash", "-c", 'exec > "$PROBE.out.$PMI_RANK" 2> "$PROBE.err.$PMI_RANK"; exec "$@"', "bash")
# Behind all snapshots: all modules in their order, marked where they have a file, and where the collector sees them. It
# mostly passes over what a snapshot holds.
PROBE = """\
import atexit
@atexit.register
def probe():
    import gc, os, sys
    seen = {id(found) for found in gc.get_objects()}
    def marks(module):
        try: names = object.__getattribute__(module, "__dict__")
        except AttributeError: return "-"
        origin = getattr(names.get("__spec__"), "origin", None) or names.get("__file__")
        return ("file" if str(origin)[:1] == "/" else "-") + ("+seen" if id(names) in seen else "")
    with open(os.environ["PROBE"] + "." + os.environ["PMI_RANK"], "w") as stream:
        print(*(f"{name} {marks(module)}" for name, module in [*sys.modules.items()]), sep="\\n", file=stream)
"""
GUARD = re.compile(r"^if __name__ == .__main__.:\n", re.MULTILINE)


@dataclass(frozen=True)
class Published:
    """A program in a directory of ``scripts``, of which ``lib`` is on the search path.

    ``words``: of its command line, behind python; ``main``: the file that these words name; ``packages``: what it
    imports, a list of packages.
    """

    words: tuple[str, ...] = ("app.py",)
    main: str = "app.py"
    packages: str = "corpus"


# The nine of the issue that asked for snapshots of programs as people write them, then twenty genres.
PUBLISHED = {
    "omp_threads": Published(packages="representative"),
    "cupy_or_numpy": Published(),
    "filterwarnings_path": Published(packages="representative"),
    "matplotlib_agg": Published(packages="representative"),
    "canonical_mpi": Published(packages="representative"),
    "own_package": Published(("run.py", "--steps", "30"), "run.py", "representative"),
    "xarray_dask": Published(),
    "pandas_pyarrow": Published(packages="representative"),
    "marked_begin": Published(packages="representative"),
    "mpi_point_to_point": Published(packages="representative"),
    "mpi_collective": Published(packages="representative"),
    "emcee_schwimmbad": Published(),
    "dedalus": Published(packages="representative"),
    "fenics": Published(packages="representative"),
    "yt": Published(packages="representative"),
    "h5py_parallel": Published(packages="representative"),
    "torch_ddp": Published(packages="torch_packages"),
    "click_cli": Published(("app.py", "-v", "count", "genome.fa", "-k", "2")),
    "argparse_cli": Published(("app.py", "-i", "stations.csv", "-o", "grid.npy"), packages="representative"),
    "console_entry_point": Published(("bin/photo-z", "--galaxies", "6"), "bin/photo-z", "representative"),
    "run_module": Published(("-m", "lattice", "12"), "lattice/__main__.py", "representative"),
    "snakemake": Published(("scripts/summarise.py",), "scripts/summarise.py", "representative"),
    "notebook": Published(),
    "type_checking": Published(),
    "logging_config": Published(),
    "plugin_registry": Published(packages="representative"),
    "start_method": Published(packages="representative"),
    "recursion_limit": Published(),
    "yaml_package": Published(("simulate.py", "--set", "run.samples=200"), "simulate.py", "representative"),
}


@dataclass(frozen=True)
class Ended:
    """How a job ended, and what each rank wrote, by stream and rank."""

    status: int | None
    streams: dict[str, str]

    def theirs(self, stream: str) -> list[str]:
        """What the program wrote."""
        return [line for line in self.streams[stream].splitlines() if not _is_ours(line)]

    def ours(self) -> str:
        """What mpiimport said."""
        return "; ".join(line for text in self.streams.values() for line in text.splitlines() if _is_ours(line))

    def import_times(self, *without: str) -> dict[str, int]:
        """What each module took rank 0 itself, but for those of mpi4py and of packages ``without``, in microseconds."""
        assert self.status == 0, self
        found = IMPORT_TIME.findall(self.streams["err.0"])
        return {name: int(took) for took, name in found if name.partition(".")[0] not in (OF_MPI, *without)}


def unlike(plain: Ended, started: Ended) -> list[str]:
    """In what a start differs from a plain one: status, and the first line of each stream."""
    found = [] if plain.status == started.status else [f"status {plain.status} plainly, {started.status}"]
    for name in plain.streams:
        lines = zip_longest(plain.theirs(name), started.theirs(name))
        found += [f"{name}: {line!r} plainly, {other!r}" for line, other in lines if line != other][:1]
    return found


def _is_ours(line: str) -> bool:
    return line.startswith("mpiimport")


def run_ranks(mpi: Mpi, ranks: int, command: tuple[str, ...], variables: dict[str, str], directory: Path) -> Ended:
    """Run a command on ranks. The variable ``PROBE`` names the files that they write; those of others are removed."""
    probe = Path(variables["PROBE"])
    for file in probe.parent.glob(f"{probe.name}.*"):
        file.unlink()
    outcome = run([*mpi.command(ranks), *APART, *command], variables, SECONDS, directory)
    streams = {f"{kind}.{rank}": f"{probe}.{kind}.{rank}" for kind in ("out", "err") for rank in range(ranks)}
    return Ended(outcome.status, {name: Path(path).read_text(errors="replace") for name, path in streams.items()})


def new_modules(probe: Path, held: int = 0) -> set[str]:
    """What rank 0 of the last job had imported that was not in a snapshot; nothing, where it did not say that.

    ``held``: how many modules with files the snapshot says to hold, for programs of which the collector sees all.
    """
    said = Path(f"{probe}.0")
    modules = [line.split() for line in said.read_text().splitlines()] if said.exists() else []
    files = [name for name, marks in modules if marks.startswith("file") and name != "__main__"]
    seen = {name for name, marks in modules if marks.endswith("+seen")}
    return seen - {*files[:held]} if seen.issuperset(files) else seen


def share(times: dict[str, int], new: set[str]) -> float:
    """How much of the time that imports take is that of modules which are not ``new`` in a started process."""
    return sum(took for name, took in times.items() if name not in new) / sum(times.values())


class Jobs:
    """Jobs of one program on MPICH's ranks, plainly and from the library of its snapshots. ``place``: its directory."""

    def __init__(self, prefix: Path, baked: Baked, mpi: Mpi, place: Path, *program: str, **variables: str) -> None:
        """``program``: the words by which python starts it."""
        self.place = place
        self._baked, self._mpi, self._bin = baked, mpi, prefix / "bin"
        self._library, self._probe = place.parent / "snapshots", place.parent / "probe"
        self._program, self._own = program, variables

    def _variables(self, **more: str) -> dict[str, str]:
        same = {
            "MPI4PY_LIBMPI": str(self._mpi.library),
            "PATH": f"{Path(self._baked.python).parent}:{os.environ['PATH']}",
            "MPIIMPORT_SNAPSHOTS": str(self._library),
            "MPIIMPORT_PREPARE": "never",
            "PROBE": str(self._probe),
        }
        return self._baked.environment(**same, **self._own, **more)

    def prepare(self, makers: int = 1) -> Outcome:
        settle(self.place, *self.place.rglob("*"))
        program = (*self._mpi.command(makers), str(self._bin / "python-mpi"), *self._program)
        return run([str(self._bin / "mpiimport"), "prepare", "--", *program], self._variables(), SECONDS, self.place)

    def start(self, *words: str, **changes: Any) -> Ended:
        """Start ranks from what was prepared; see ``_ranks``."""
        return self._ranks(str(self._bin / "python-mpi"), words, **changes)

    def plain(self, *words: str, **changes: Any) -> Ended:
        return self._ranks(self._baked.python, words, **changes)

    def _ranks(
        self,
        python: str,
        words: tuple[str, ...],
        program: tuple[str, ...] = (),
        before: tuple[str, ...] = (),
        directory: Path | None = None,
        **variables: str,
    ) -> Ended:
        """``program``: another than that which is prepared; ``before``: words in front of python."""
        command = (*before, python, *(program or self._program), *words)
        return run_ranks(self._mpi, RANKS, command, self._variables(**variables), directory or self.place)

    def times(self, *without: str) -> dict[str, int]:
        """What each module takes rank 0 plainly, but for those of mpi4py and of packages ``without``."""
        return self.plain(program=("-X", "importtime", *self._program)).import_times(*without)

    def new(self, held: int = 0) -> set[str]:
        return new_modules(self._probe, held)

    def snapshots(self) -> set[Path]:
        return {*self._library.glob("*/*/image*")}


def published(name: str, prefix: Path, directory: Path, mpi: Mpi) -> Jobs:
    """Jobs of a copy of a published program."""
    program, place = PUBLISHED[name], directory / name
    baked = Baked(prefix, directory, str(environment_with(program.packages)))
    shutil.copytree(SCRIPTS / name, place)
    main = place / program.main
    if main.suffix != ".py":
        # As pip writes it.
        main.write_text(f"#!{baked.python}\n{main.read_text()}")
        main.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = {"PYTHONPATH": str(place / "lib"), "HOME": str(directory), "MASTER_PORT": str(server.getsockname()[1])}
    return Jobs(prefix, baked, mpi, place, *program.words, **own)


def imported_after_the_restore(jobs: Jobs, name: str) -> set[str]:
    """The modules of rank 0 that are not from the snapshot. The program is changed behind all cuts for that."""
    main = jobs.place / PUBLISHED[name].main
    main.write_text(probed(main.read_text()))
    report = jobs.place.with_name("report.json")
    ended = jobs.start(MPIIMPORT_REPORT=str(report))
    assert ended.status == 0, ended
    return jobs.new(json.loads(report.read_text()).get("snapshot", {}).get("modules", 0) if report.exists() else 0)


def probed(text: str) -> str:
    """The text of a program that says at its end what it has imported since its snapshot."""
    guard = GUARD.search(text)
    if guard is None:
        return f"{text}\n{PROBE}"
    inside = "".join(f"    {line}\n" for line in PROBE.splitlines())
    return text[: guard.end()] + inside + text[guard.end() :]
