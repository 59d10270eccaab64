"""`mpiimport run` says at its end what its job got, ends as the launcher ends, and leaves nothing behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import Job, wait_for

PROGRAM = "import json; from mpi4py import MPI; print(type(json.__loader__).__name__, MPI.COMM_WORLD.size)"
SERVED, PLAIN = "StoreSourceLoader 2", "SourceFileLoader 2"
PYTHON = Path(sys.executable).name
NONE = "mpiimport: no rank of this job took part, as far as is seen here: "
UNSET = "#!/bin/bash\nunset PYTHONPATH\nexec {python} app.py\n"


def start(job: Job, mpi: Mpi, *line: str, ranks: int = 2, **variables: str) -> Outcome:
    job.script(PROGRAM)
    own = {"MPIIMPORT": "force", "MPIIMPORT_STORE": str(job.stores()), **job.first_on_path()}
    words = ["run", "--", *(mpi.command(ranks) if ranks else []), *line]
    return job.tool(*words, **job.environment(mpi, **{**own, **variables}))


def left(job: Job) -> list[Path]:
    return list((job.directory / "cache").glob("mpiimport/jobs"))


@pytest.mark.parametrize("option", ["", "-I", "-E"])
def test_that_no_rank_took_part_and_what_to_do(job: Job, mpich: Mpi, option: str) -> None:
    """A wrapper that drops PYTHONPATH, and a Python that does not look at it."""
    job.script(UNSET.format(python=PYTHON), "go.sh").chmod(0o755)
    plain = start(job, mpich, *([PYTHON, option, "app.py"] if option else ["./go.sh"]))
    assert (plain.status, plain.lines(), left(job)) == (0, [PLAIN] * 2, [])
    (line,) = plain.ours()
    assert line.startswith(NONE) and (option or "PYTHONPATH was changed") in line
    remedy = line.rpartition("start the program by ")[2]
    job.script(UNSET.format(python=remedy), "go.sh")
    served = start(job, mpich, *([remedy, "app.py"] if option else ["./go.sh"]))
    assert (served.status, served.lines()) == (0, [SERVED] * 2), served.stderr
    assert served.stderr.startswith("mpiimport: 2 ranks: served; ")


def test_what_is_said_by_root_is_not_said_again(job: Job, mpich: Mpi) -> None:
    plain = start(job, mpich, "sh", "-c", f"{PYTHON} app.py; true")
    assert plain.lines() == [PLAIN] * 2
    assert "may run others, too" in plain.stderr and len(plain.ours()) == 1
    assert len(start(job, mpich, PYTHON, "app.py", ranks=1).ours()) == 1


def test_a_session_is_named(job: Job, mpich: Mpi) -> None:
    job.script(PROGRAM)
    own = {"MPIIMPORT_STORE": str(job.stores()), **job.first_on_path()}
    words = ["session", "start", "--", *mpich.command(1), PYTHON, "app.py"]
    filled = job.tool(*words, **job.environment(mpich, **own))
    assert filled.status == 0, filled.stderr
    served = start(job, mpich, PYTHON, "app.py", MPIIMPORT_CACHE="session")
    assert (served.lines(), served.stderr) == ([SERVED] * 2, "mpiimport: 2 ranks: from a session\n")


def test_it_ends_as_the_command(job: Job, mpich: Mpi) -> None:
    for text, status in (("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9)):
        assert start(job, mpich, "sh", "-c", text, ranks=0).status == status
    assert start(job, mpich, "nosuchcommand", ranks=0).stderr == "mpiimport: nosuchcommand: command not found\n"
    assert start(job, mpich, "sh", "-c", f"{PYTHON} -c ''; exit 3", MPIIMPORT="0", ranks=0).stderr == ""
    assert left(job) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGKILL])
def test_signals_reach_the_command(job: Job, mpich: Mpi, number: signal.Signals) -> None:
    text = "trap 'echo got; exit 5' TERM INT USR1; echo $$ > pid; while :; do sleep 0.05; done"
    words = [str(job.prefix / "bin" / "mpiimport"), "run", "--", "sh", "-c", text]
    with (job.directory / "out").open("w") as out:
        started = subprocess.Popen(words, env=job.environment(mpich), cwd=job.directory, stdout=out, stderr=out)
        wait_for(lambda: (job.directory / "pid").exists() and (job.directory / "pid").read_text().strip())
        command = int((job.directory / "pid").read_text())
        started.send_signal(number)
        status = started.wait(30)
    if number == signal.SIGKILL:
        wait_for(lambda: not Path(f"/proc/{command}").exists())
        assert status == -9
    else:
        assert (status, (job.directory / "out").read_text()[:4]) == (5, "got\n")
