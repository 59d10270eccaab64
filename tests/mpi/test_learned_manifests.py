"""What ranks import is learned when MPI ends, so that the next run serves all of it; a hint, never content."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

HIDDEN = """
import importlib, sys
from pathlib import Path
sys.path.append(str(Path(__file__).parent / "elsewhere"))
importlib.import_module("part.hi" + "dden")
import found_elsewhere
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    importlib.import_module("part.only" + "_here")
"""
ENDINGS = {
    "implicit": "",
    "explicit": "MPI.Finalize()",
    "one rank early": "import os\nif MPI.COMM_WORLD.rank: MPI.Finalize()",
    "exit status": "sys.exit(0)",
    "the program's own finalize": "import atexit\natexit.register(MPI.Finalize)",
}


def files(job: Job) -> None:
    job.files(dict.fromkeys([f"part/{name}.py" for name in ("__init__", "hidden", "only_here", "never")], "value = 1"))
    job.script("value = 1", "elsewhere/found_elsewhere.py")


def run(job: Job, mpi: Mpi, script: Path, ranks: int = 2, **environment: str) -> dict[str, Any]:
    """Run served, with as much read as for many nodes, and return the report."""
    own = {"PYTHONPATH": str(job.directory / "library"), "MPIIMPORT_BREADTH": "closure"}
    outcome = job.run(mpi, ranks, "--report", "report.json", script, **own, **environment)
    assert outcome.status == 0, outcome.stderr
    assert outcome.ours() == []
    report: dict[str, Any] = json.loads((job.directory / "report.json").read_text())
    return report


def manifests(job: Job) -> list[Path]:
    return sorted((job.directory / "cache" / "mpiimport" / "manifests").glob("*"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_second_run_serves_what_the_first_one_missed(job: Job, mpi: Mpi, ending: str) -> None:
    files(job)
    script = job.script(HIDDEN + ENDINGS[ending])
    first = run(job, mpi, script, ranks=3)
    missed = {miss["name"]: (miss["ranks"], miss["why"]) for miss in first["missed"]}
    assert {name: ranks for name, (ranks, _) in missed.items()} == {
        "part": 3,
        "part.hidden": 3,
        "part.only_here": 1,
        "found_elsewhere": 3,
    }
    assert "a name made while the program runs" in missed["part.hidden"][1]
    assert "other ranks" in missed["part.only_here"][1]
    assert "searched only since the program runs" in missed["found_elsewhere"][1]
    second = run(job, mpi, script, ranks=3)
    assert second["missed"] == []
    assert second["modules_served"] == first["modules_served"] + 4
    assert len(manifests(job)) == 1


def test_the_second_run_reads_nothing_that_no_rank_imports(job: Job, mpich: Mpi) -> None:
    text = "if 0 > 1.5:\n    import sqlite3, asyncio\nimport numpy, sysconfig\nsysconfig.get_config_vars()"
    script = job.script(text)
    first = run(job, mpich, script)
    second = run(job, mpich, script)
    assert second["missed"] == []
    assert first["modules_stored"] > second["modules_stored"] + 50
    assert second["modules_stored"] == second["modules_served"]


def test_what_a_changed_program_adds_is_found_without_learning_it_first(job: Job, mpich: Mpi) -> None:
    run(job, mpich, job.script("import json"))
    report = run(job, mpich, job.script("import json, xml.dom.minidom"))
    assert report["missed"] == []
    assert report["modules_served"] > 5


def test_content_made_by_the_run_itself_is_never_that_of_an_earlier_run(job: Job, mpich: Mpi) -> None:
    script = job.script("""
import os, sys
from mpi4py import MPI
made = os.path.join(os.path.dirname(__file__), "made")
os.makedirs(made, exist_ok=True)
rank, turn = MPI.COMM_WORLD.rank, int(os.environ["TURN"])
if rank == 0:
    for name in ("always", f"new_{turn}"):
        with open(os.path.join(made, name + ".py"), "w") as stream:
            stream.write(f"turn = {turn:{turn + 2}}")
MPI.COMM_WORLD.Barrier()
sys.path.insert(0, made)
import always
assert always.turn == turn, always.turn
assert __import__(f"new_{turn}").turn == turn
""")
    for turn in range(3):
        run(job, mpich, script, TURN=str(turn))


@pytest.mark.parametrize("content", ["", "mpiimport manifest 99\nend\n", "\0\1\2", "import os; os.abort()"])
def test_a_foreign_file_is_ignored_with_one_line(job: Job, mpich: Mpi, content: str) -> None:
    files(job)
    script = job.script(HIDDEN)
    run(job, mpich, script)
    (manifest,) = manifests(job)
    manifest.write_text(content)
    outcome = job.run(mpich, 2, script, PYTHONPATH=str(job.directory / "library"))
    assert outcome.status == 0, outcome.stderr
    (line,) = outcome.ours()
    assert str(manifest) in line and "ignored" in line


def test_a_cache_that_cannot_be_written_changes_nothing(job: Job, mpich: Mpi) -> None:
    (job.directory / "cache").write_text("a file where the directory should be")
    assert run(job, mpich, job.script("import json"))["missed"] == []


ABORTS = {
    "exception": "raise RuntimeError('on purpose')",
    "abort": "MPI.COMM_WORLD.Abort(5)",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "os._exit": "import os; os._exit(3)",
}


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("end", ABORTS)
def test_a_rank_that_aborts_leaves_no_rank_waiting(job: Job, mpich: Mpi, end: str, rank: int) -> None:
    script = job.script(f"from mpi4py import MPI\nif MPI.COMM_WORLD.rank == {rank}:\n    {ABORTS[end]}")
    outcome = job.run(mpich, 2, script)
    assert outcome.status not in (0, None), outcome.stderr


def test_names_are_kept_and_no_content(job: Job, mpich: Mpi) -> None:
    files(job)
    job.script("secret = 'never to be written'", "library/part/hidden.py")
    run(job, mpich, job.script(HIDDEN))
    (manifest,) = manifests(job)
    assert "never to be written" not in manifest.read_text()
    keys = {line.split(" ")[0] for line in manifest.read_text().splitlines()}
    assert keys <= {"mpiimport", "program", "tree", "import", "skip", "search", "ask", "end"}
