"""With ``serve: listings`` ranks find modules without a search, and each reads the files itself."""

import json
from pathlib import Path

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.sameness import differences, reporting
from tests.mpi.test_other_ranks_leave_the_tree_alone import PROGRAM

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


def test_programs_see_what_they_see_plainly(job: Job, mpich: Mpi, entry_point: str) -> None:
    script = job.script(reporting(job, SEES))
    assert differences(job, mpich, script, entry_points=(entry_point,), MPIIMPORT_SERVE="listings") == {}


def test_other_ranks_search_nothing_and_read_each_file_themselves(job: Job, mpi: Mpi, tree: list[Path]) -> None:
    outcome, traces = job.traced(mpi, 4, job.script(PROGRAM), **LISTINGS, MPIIMPORT_BREADTH="closure")
    assert outcome.ours() == []
    for found in traces:
        if not found.is_root():
            calls = found.while_served(tree)
            assert [call.line for call in calls if "O_DIRECTORY" in call.line] == []
            python = [call for call in calls if call.path.endswith((".py", ".pyc"))]
            assert [call.line for call in python if "ENOENT" in call.line] == []
            opened = [call.path for call in python if call.name == "openat"]
            assert len(opened) == len(set(opened)) > 300


def test_the_store_holds_no_contents(job: Job, mpich: Mpi) -> None:
    sizes = {}
    for what in ("all", "listings"):
        report = job.directory / f"{what}.json"
        served = job.run(mpich, 2, job.script("import numpy"), MPIIMPORT_SERVE=what, MPIIMPORT_REPORT=str(report))
        assert (served.status, served.ours()) == (0, []), served.stderr
        sizes[what] = json.loads(report.read_text())["bytes_stored"]
    assert sizes["listings"] < 1 << 20 < sizes["all"]


def test_modules_without_a_pyc_are_compiled_and_written_as_plainly(job: Job, mpich: Mpi) -> None:
    path = job.files({"package/__init__.py": "import package.part", "package/part.py": "value = 1"})
    script = job.script("import package; print(package.part.value)", "sub/app.py")
    assert job.run(mpich, 2, script, PYTHONPATH=path, **LISTINGS).printed() == ["1"] * 2
    assert len(list(Path(path).glob("package/__pycache__/*.pyc"))) == 2
