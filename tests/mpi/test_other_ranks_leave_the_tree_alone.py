"""Only root reads the Python tree; what the others still do there before activation is bounded."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from lab.environments import Installation
from lab.ranks import Mpi
from lab.syscalls import MARK, Call, Trace, on_tree, trace
from tests.conftest import ROOT, RUNNING, Job

PROGRAM = f"""
import numpy; import scipy.interpolate
try:
    import cupy
except ImportError:
    pass
import os
os.path.exists("{MARK}imported")
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    os.path.exists("{MARK}root")
"""
PAGE = ROOT / "docs" / "installation.md"
# For an interpreter that has nothing installed.
SMALL = f"""
import os
rank = os.environ.get("PMI_RANK", os.environ.get("PMIX_RANK"))
os.path.exists("{MARK}imported" if int(rank) else "{MARK}root")
"""
# Path calls of a rank other than root before activation, at most, by their cause: docs/architecture.md has the table.
# Those of ld.so come to a bare interpreter's, of which there are more on processors with more variants of libraries.
LD_SO, INTERPRETER, LIBRARY, MPI4PY, OURS = "ld.so", "interpreter", "standard library", "mpi4py", "mpiimport"
LIMITS = {LD_SO: 2, INTERPRETER: 43, LIBRARY: 7, MPI4PY: 6, OURS: 10}
BARE = f"import os; os.path.exists('{MARK}imported')"
PLAIN = f"import numpy; import scipy.interpolate; import os; os.path.exists('{MARK}imported')"


def traced(job: Job, mpi: Mpi, program: str = PROGRAM, entry_point: str = "early", named: bool = True) -> list[Trace]:
    """``named``: MPI4PY_LIBMPI names the library."""
    # As much is read as for many nodes; for one, root leaves more to imports as they come.
    wrapper = [] if named else ["env", "-u", "MPI4PY_LIBMPI"]
    script, breadth = job.script(program), {"MPIIMPORT_BREADTH": "closure"}
    return job.traced(mpi, 4, script, entry_point=entry_point, wrapper=wrapper, **breadth)[1]


@pytest.mark.parametrize(
    ("name", "entry_point"), [("mpich", "early"), ("openmpi", "early"), ("mpich", "sitecustomize")]
)
def test_no_path_call_on_the_tree_after_activation(
    job: Job, mpis: dict[str, Mpi], tree: list[Path], name: str, entry_point: str
) -> None:
    for found in traced(job, mpis[name], entry_point=entry_point):
        assert found.while_served(tree) == []


def by_cause(calls: list[Call], prefix: Path) -> dict[str, list[str]]:
    """The calls on tree and prefix that a rank makes before activation, by what makes them."""
    found: dict[str, list[str]] = {cause: [] for cause in LIMITS}
    libraries = Path(sys.base_prefix, "lib")
    started = False
    for call in calls:
        path = Path(call.path)
        started |= path.name == "start.py"
        if "mpi4py" in path.parts or path.name == "site-packages":
            cause = MPI4PY
        elif path.is_relative_to(prefix):
            cause = OURS
        elif path.is_relative_to(libraries) and not path.relative_to(libraries).as_posix().startswith((".", "python")):
            cause = LD_SO
        else:
            cause = LIBRARY if started else INTERPRETER
        found[cause].append(call.line)
    return found


@pytest.mark.parametrize("where", ["environment", "environment with MPI", "interpreter alone"])
def test_path_calls_before_activation(job: Job, mpi: Mpi, tree: list[Path], prefix: Path, where: str) -> None:
    if where == "interpreter alone":
        job = Job(prefix, job.directory, sys._base_executable)  # type: ignore[attr-defined]
    if where == "environment with MPI":
        installation = Installation(job.directory)
        installation.put(mpi, installation.home)
        job = Job(prefix, job.directory, installation.python)
        # Where its MPI's own libraries lie is left out.
        tree = [tree[-1], *(installation.home / name for name in ("bin", "pyvenv.cfg", f"lib/python{RUNNING}"))]
    bare_directory = job.directory / "bare"
    bare_directory.mkdir()
    _, (bare,) = trace([*job.python("plain"), "-S", "-c", BARE], job.environment(mpi), bare_directory)
    limits = {**LIMITS, LD_SO: LIMITS[LD_SO] + len(by_cause(on_tree(bare.calls, tree), prefix)[LD_SO])}
    for found in traced(job, mpi, SMALL, named=where != "environment with MPI"):
        if not found.is_root():
            causes = by_cause(on_tree(found.calls[: found.activated_at()], [*tree, prefix]), prefix)
            for cause, lines in causes.items():
                assert len(lines) <= limits[cause], "\n".join(lines)


def test_what_a_prefix_without_the_one_file_costs_is_documented(job: Job, mpich: Mpi, prefix: Path) -> None:
    bare = job.directory / "bare"
    shutil.copytree(prefix / "lib", bare / "lib", ignore=shutil.ignore_patterns("rank_path.*"))
    (bare / "mpi4py").symlink_to(prefix / "mpi4py")
    figures = re.findall(r"a rank makes only (\d+) path calls in PREFIX, not (\d+)\.", PAGE.read_text())
    for where, documented in zip((prefix, bare), map(int, *figures), strict=True):
        directory = job.directory / f"{documented}"
        directory.mkdir()
        for found in traced(Job(where, directory), mpich, SMALL):
            if not found.is_root():
                assert len(on_tree(found.calls[: found.activated_at()], [where])) <= documented


def test_root_of_later_runs_makes_no_more_calls_than_a_plain_process(job: Job, mpich: Mpi, tree: list[Path]) -> None:
    directory = job.directory / "plain"
    directory.mkdir()
    _, (plain,) = trace([sys.executable, "-c", PLAIN], job.environment(mpich), directory)
    assert job.run(mpich, 4, job.script(PROGRAM)).status == 0
    (root,) = [found for found in traced(job, mpich) if found.is_root()]
    assert len(on_tree(root.until_mark("imported"), tree)) <= len(on_tree(plain.calls, tree))
