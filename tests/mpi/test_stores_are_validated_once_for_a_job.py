"""`mpiimport run` looks once whether cached stores are true; ranks believe that, and what they start looks for itself."""

import json
import os
import shutil
import subprocess
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
        own = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(part.parent),
            "MPIIMPORT_STORE": str(job.stores()),
            "MPIIMPORT": "1",
            "MPIIMPORT_CACHE": "auto",
        }
        environment = job.environment(mpi, **{**own, **variables})
        program = [str(job.prefix / "bin" / "python-mpi"), str(job.directory / "app.py")]
        line = [*mpi.command(2), *(map(str, words) if words else program)]
        before = [str(job.prefix / "bin" / "mpiimport"), "run", "--"] if front else []
        return run([*before, *line], environment, 60, job.directory)

    return start


# What `mpiimport run` says at its end.
GOT = "mpiimport: 2 ranks: from a cached store"


def fill(job: Job, mpi: Mpi, launch: Launch) -> None:
    script = job.script(SHOW)
    # Whether `mpiimport run` stands in front makes no other program.
    filled = launch(mpi, str(job.prefix / "bin" / "python-mpi"), script, front=False, MPIIMPORT_FILL="1")
    assert (filled.status, filled.stdout) == (0, ""), filled.stderr


def validated(path: Path) -> int:
    return int(json.loads(path.read_text())["cached_store"]["validated"])


@pytest.mark.parametrize("name", LAUNCHERS)
def test_ranks_do_not_look_again(job: Job, mpis: dict[str, Mpi], launch: Launch, name: str) -> None:
    fill(job, mpis[name], launch)
    report = job.directory / "run.json"
    outcome = launch(mpis[name], MPIIMPORT_REPORT=str(report))
    assert (outcome.status, outcome.lines(), outcome.ours()) == (0, ["served old"] * 2, [GOT]), outcome.stderr
    assert validated(report) == 0


@pytest.mark.parametrize("keep", ["auto", "session"])
def test_a_change_is_seen_at_the_next_launch(job: Job, mpich: Mpi, part: Path, launch: Launch, keep: str) -> None:
    fill(job, mpich, launch)
    assert launch(mpich, MPIIMPORT_CACHE=keep).lines() == ["served old"] * 2
    part.write_text("value = 'new'\n")
    outcome = launch(mpich, MPIIMPORT_CACHE=keep)
    assert (outcome.status, outcome.lines()) == (0, ["plain new"] * 2), outcome.stderr
    assert f"{part} has changed since the store of script " in outcome.ours()[0]
    assert len(outcome.ours()) == 2
    assert ("session refresh" if keep == "session" else "plain because") in outcome.ours()[-1]


CHANGE = "echo 'value = 1' >$PART"
IN_FRONT = {
    "a shell": ["sh", "-c", f"{CHANGE}; $PYTHON $APP; exit"],
    "a shell that becomes it": ["sh", "-c", f"{CHANGE}; exec $PYTHON $APP"],
    "the last command of a shell": ["bash", "-c", f"{CHANGE} && $PYTHON $APP"],
    "a wrapper": ["./wrapper", "python-mpi", "app.py"],
    "a wrapper by its name": ["wrapper", "python-mpi", "app.py"],
    "another launcher": ["sh", "-c", f"{CHANGE}; mpiexec -n 1 $PYTHON $APP"],
}


@pytest.mark.parametrize("case", IN_FRONT)
def test_what_stands_in_front_of_the_rank_may_change_the_tree(
    job: Job, mpich: Mpi, part: Path, launch: Launch, case: str
) -> None:
    fill(job, mpich, launch)
    python = job.prefix / "bin" / "python-mpi"
    wrapper = job.script(f"#!/bin/sh\n{CHANGE}\nexec $PYTHON $APP\n", "wrapper")
    wrapper.chmod(0o755)
    path = f"{job.directory}:{mpich.prefix / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {"PART": str(part), "PYTHON": str(python), "APP": str(job.directory / "app.py"), "PATH": path}
    outcome = launch(mpich, *IN_FRONT[case], **variables)
    assert (outcome.status, {*outcome.lines()}) == (0, {"plain 1"}), outcome.stderr


OTHER_VIEWS = {
    "another mount namespace": 'exec unshare -m sh -c "mount --bind $OTHER $LIB; exec $PYTHON $APP"',
    "another root": "exec chroot $ROOT $PYTHON $APP",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have another view of the file system")
@pytest.mark.parametrize("case", OTHER_VIEWS)
def test_a_look_counts_for_nobody_who_sees_other_files(
    job: Job, mpich: Mpi, part: Path, launch: Launch, case: str
) -> None:
    fill(job, mpich, launch)
    other, root = job.directory / "other", job.directory / "root"
    root.mkdir()
    shutil.copytree(part.parent, other)
    (other / "part.py").write_text("value = 'other'\n")
    # Named as python is, so that the line looks like one that starts it.
    python = job.script(f"#!/bin/sh\n{OTHER_VIEWS[case]}\n", "bin/python")
    python.chmod(0o755)
    mounts = [["--rbind", "/", root], ["--make-rslave", root], ["--bind", other, f"{root}{part.parent}"]]
    for words in mounts:
        subprocess.run(["mount", *map(str, words)], check=True)
    try:
        variables = {"OTHER": str(other), "LIB": str(part.parent), "ROOT": str(root)}
        variables |= {"PYTHON": str(job.prefix / "bin" / "python-mpi"), "APP": str(job.directory / "app.py")}
        outcome = launch(mpich, python, job.directory / "app.py", **variables)
    finally:
        subprocess.run(["umount", "-R", "-l", str(root)], check=True)
    assert (outcome.status, outcome.lines()) == (0, ["plain other"] * 2), outcome.stderr


def test_what_a_rank_starts_later_looks_for_itself(job: Job, mpich: Mpi, part: Path, launch: Launch) -> None:
    fill(job, mpich, launch)
    python = f"{job.prefix}/bin/python-mpi"
    parent = job.script(
        f"import os, subprocess\nprint(sorted(name for name in os.environ if name == '_MPIIMPORT_STORES_VALIDATED'), flush=True)\n"
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
    (index,) = job.stores().glob("*/stores/*/dependencies")
    index.write_bytes(b"nonsense")
    damaged = launch(mpich)
    assert (damaged.status, len(damaged.ours())) == (0, 1), damaged.stderr
    assert damaged.ours()[0].startswith("mpiimport: plain because ")


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
    assert (same.status, same.stdout) == (0, "the tree is as the stores say\n"), same.stderr
    part.write_text("value = 'new'\n")
    assert f"{part} has changed since" in session("status").stdout
    # At once, and by somebody with other variables.
    search = environment.pop("PYTHONPATH")
    refreshed = session("refresh")
    environment["PYTHONPATH"] = search
    assert (refreshed.status, refreshed.stdout) == (0, f"script {script}: {part} has changed since\n"), refreshed.stderr
    attached = run(python, {**environment, "MPIIMPORT": "1", "MPIIMPORT_CACHE": "session"}, 60, job.directory)
    assert attached.lines() == ["served new"], attached.stderr
    assert session("stop").status == 0 and not list(job.stores().iterdir())
