"""`mpiimport run` looks once whether kept stores are true; ranks believe that, and what they start looks for itself."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job, settle

# Where a module came from, what it says, and whether this process had to look.
SHOW = """
import part, sys
came = type(getattr(part.__loader__, "source", None)).__name__
print("served" if came == "Imports" else "plain", part.value, flush=True)
"""
LAUNCHERS = ["mpich", "openmpi"]
Launch = Callable[..., Outcome]


@pytest.fixture
def part(job: Job) -> Path:
    path = job.directory / "lib" / "part.py"
    path.parent.mkdir()
    path.write_text("value = 'old'\n")
    settle(path.parent, path)
    return path


@pytest.fixture
def launch(job: Job, part: Path) -> Launch:
    """Start ranks of a program by a launcher, behind `mpiimport run` or not."""

    def start(mpi: Mpi, *words: str | Path, front: bool = True, **variables: str) -> Outcome:
        environment = job.environment(
            mpi,
            PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            PYTHONPATH=str(part.parent),
            MPIIMPORT_STORE=str(job.stores()),
            MPIIMPORT="1",
            **{"MPIIMPORT_KEEP": "auto", **variables},
        )
        program = [str(job.prefix / "bin" / "python-mpi"), str(job.directory / "app.py")]
        line = [*mpi.command(2), *(map(str, words) if words else program)]
        before = [str(job.prefix / "bin" / "mpiimport"), "run", "--"] if front else []
        return run([*before, *line], environment, 60, job.directory)

    return start


def fill(job: Job, mpi: Mpi, launch: Launch) -> None:
    script = job.script(SHOW)
    # The door that `mpiimport run` puts on PYTHONPATH is part of what a program searches.
    filled = launch(mpi, str(job.prefix / "bin" / "python-mpi"), script, MPIIMPORT_FILL="1")
    assert (filled.status, filled.stdout) == (0, ""), filled.stderr


def looked_at(path: Path) -> int:
    return int(json.loads(path.read_text())["kept_store"]["looked_at"])


@pytest.mark.parametrize("name", LAUNCHERS)
def test_ranks_do_not_look_again(job: Job, mpis: dict[str, Mpi], launch: Launch, name: str) -> None:
    fill(job, mpis[name], launch)
    report = job.directory / "run.json"
    outcome = launch(mpis[name], MPIIMPORT_REPORT=str(report))
    assert (outcome.status, outcome.lines(), outcome.ours()) == (0, ["served old"] * 2, []), outcome.stderr
    assert looked_at(report) == 0


@pytest.mark.parametrize("keep", ["auto", "session"])
def test_a_change_is_seen_at_the_next_launch(job: Job, mpich: Mpi, part: Path, launch: Launch, keep: str) -> None:
    fill(job, mpich, launch)
    assert launch(mpich, MPIIMPORT_KEEP=keep).lines() == ["served old"] * 2
    part.write_text("value = 'new'\n")
    outcome = launch(mpich, MPIIMPORT_KEEP=keep)
    assert (outcome.status, outcome.lines()) == (0, ["plain new"] * 2), outcome.stderr
    assert f"{part} has changed since the store of script " in outcome.ours()[0]
    assert len(outcome.ours()) == (2 if keep == "session" else 1)
    assert "session refresh" in outcome.ours()[-1] or keep == "auto"


def test_what_a_shell_does_in_front_of_the_rank_is_seen(job: Job, mpich: Mpi, part: Path, launch: Launch) -> None:
    fill(job, mpich, launch)
    python = f"{job.prefix}/bin/python-mpi {job.directory}/app.py"
    outcome = launch(mpich, "sh", "-c", f"echo 'value = 1' >{part}; {python}; exit")
    assert (outcome.status, outcome.lines()) == (0, ["plain 1"] * 2), outcome.stderr


def test_what_a_rank_starts_later_looks_for_itself(job: Job, mpich: Mpi, part: Path, launch: Launch) -> None:
    fill(job, mpich, launch)
    python = f"{job.prefix}/bin/python-mpi"
    parent = job.script(
        f"import os, subprocess\nprint(sorted(name for name in os.environ if name == 'MPIIMPORT_LOOKED'), flush=True)\n"
        f"open({str(part)!r}, 'w').write('value = 2')\n"
        f"subprocess.run(['{python}', '{job.directory}/app.py'])",
        "parent.py",
    )
    assert launch(mpich, python, parent).lines().count("plain 2") == 2


def test_a_job_starts_whatever_hinders_the_look(job: Job, mpich: Mpi, launch: Launch) -> None:
    fill(job, mpich, launch)
    unknown = launch(mpich, MPIIMPORT_STORE_SIZE="much")
    assert (unknown.status, unknown.lines()) == (0, ["plain old"] * 2), unknown.stderr
    (said,) = unknown.ours()
    assert "MPIIMPORT_STORE_SIZE" in said
    (index,) = job.stores().glob("*/stores/*/witnesses")
    index.write_bytes(b"nonsense")
    damaged = launch(mpich)
    assert (damaged.status, damaged.ours()) == (0, []), damaged.stderr


def test_a_session_is_refreshed_where_the_tree_has_changed(job: Job, mpich: Mpi, part: Path, launch: Launch) -> None:
    script = job.script(SHOW)
    command = str(job.prefix / "bin" / "mpiimport")
    python = [str(job.prefix / "bin" / "python-mpi"), str(script)]
    environment = job.environment(
        mpich,
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        PYTHONPATH=str(part.parent),
        MPIIMPORT_STORE=str(job.stores()),
    )

    def session(*words: str) -> Outcome:
        return run([command, "session", *words], environment, 60, job.directory)

    nothing = session("refresh")
    assert nothing.status == 1 and "session start" in nothing.stderr
    assert session("start", "--", *python).status == 0
    same = session("refresh")
    assert (same.status, same.stdout) == (0, "the tree is as the stores say: 1\n"), same.stderr
    part.write_text("value = 'new'\n")
    settle(part)
    assert f"{part} has changed since" in session("status").stdout
    refreshed = session("refresh")
    assert (refreshed.status, refreshed.stdout) == (0, f"script {script}: {part} has changed\n"), refreshed.stderr
    attached = run(python, {**environment, "MPIIMPORT": "1", "MPIIMPORT_KEEP": "session"}, 60, job.directory)
    assert attached.lines() == ["served new"], attached.stderr
    assert session("stop").status == 0 and not list(job.stores().iterdir())
