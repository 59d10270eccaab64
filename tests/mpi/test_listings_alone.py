"""With ``serve: listings`` ranks find modules without a search, and each reads the files itself."""

import json
from pathlib import Path

from lab.ranks import Mpi
from lab.syscalls import on_tree, trace
from tests.conftest import Job
from tests.mpi.sameness import differences, reporting
from tests.mpi.test_other_ranks_leave_the_tree_alone import PROGRAM, is_root

LISTINGS = {"MPIIMPORT_SERVE": "listings"}
SEES = """
import importlib.metadata, inspect, sys
import numpy, scipy.interpolate, json.tool
try:
    import cupy
except ImportError as exc:
    seen["missing"] = str(exc)
try:
    import numpy.nothing_of_the_kind
except ImportError as exc:
    seen["missing inside"] = str(exc)
seen["files"] = {name: getattr(module, "__file__", None) for name, module in sys.modules.items() if name[:5] == "scipy"}
seen["origins"] = [numpy.__spec__.origin, numpy.__cached__, list(numpy.__path__)]
seen["source"] = len(inspect.getsource(numpy))
seen["version"] = importlib.metadata.version("numpy")
seen["sum"] = float(scipy.interpolate.interp1d([0, 1], [1, 2])(0.5))
"""


def test_programs_see_what_they_see_plainly(job: Job, mpich: Mpi) -> None:
    script = job.script(reporting(job, SEES))
    assert (
        differences(job, mpich, script, entry_points=("early", "module", "sitecustomize"), MPIIMPORT_SERVE="listings")
        == {}
    )


def test_other_ranks_search_nothing_and_read_each_file_themselves(job: Job, mpi: Mpi, tree: list[Path]) -> None:
    environment = job.environment(mpi, **job.switches("early"), **LISTINGS, MPIIMPORT_BREADTH="closure")
    outcome, traces = trace(job.command(mpi, 4, "early", job.script(PROGRAM)), environment, job.directory)
    assert (outcome.status, outcome.ours(), len(traces)) == (0, [], 4), outcome.stderr
    for found in traces:
        position = found.activated_at()
        assert position is not None
        if not is_root(found):
            calls = on_tree(found.until_mark("imported")[position:], tree)
            assert [call.line for call in calls if "O_DIRECTORY" in call.line] == []
            python = [call for call in calls if call.path.endswith((".py", ".pyc"))]
            assert [call.line for call in python if "ENOENT" in call.line] == []
            opened = [call.path for call in python if call.name == "openat"]
            assert len(opened) > 300
            assert len(opened) == len(set(opened))


def test_the_store_holds_no_contents(job: Job, mpich: Mpi) -> None:
    sizes = {}
    for what in ("all", "listings"):
        report = job.directory / f"{what}.json"
        served = job.run(mpich, 2, job.script("import numpy"), MPIIMPORT_SERVE=what, MPIIMPORT_REPORT=str(report))
        assert (served.status, served.ours()) == (0, []), served.stderr
        sizes[what] = json.loads(report.read_text())["bytes_stored"]
    assert sizes["listings"] < 1 << 20 < sizes["all"]


def test_modules_without_a_pyc_are_compiled_and_written_as_plainly(job: Job, mpich: Mpi) -> None:
    package = job.directory / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import package.part")
    (package / "part.py").write_text("value = 1")
    served = job.run(
        mpich,
        2,
        job.script("import package; print(package.part.value)", "sub/app.py"),
        PYTHONPATH=str(job.directory),
        **LISTINGS,
    )
    assert (served.status, served.lines()) == (0, ["1"] * 2), served.stderr
    assert len(list(package.glob("__pycache__/*.pyc"))) == 2
