"""A rank's python behind a wrapper without `exec` is served where it is all that the wrapper runs."""

import sys

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job, crossed, settle

PROGRAM = (
    "import json, sys; from mpi4py import MPI; print(type(json.__loader__).__name__, MPI.COMM_WORLD.size, sys.argv[1:])"
)
SERVED, PLAIN = "StoreSourceLoader 2 ['a word']", "SourceFileLoader 2 ['a word']"
BIND = """#!/bin/bash
# A binding script, as sites hand them out.
case $PMI_RANK in
    0) export VISIBLE_DEVICES=0;;
    *) export VISIBLE_DEVICES=1;;
esac
OMP_NUM_THREADS=1 "$@"
"""
PYTHON = sys.executable
# What the launcher starts; the program and its argument come in the place of APP.
LEADING = {
    "timeout": ["timeout", "60", "APP"],
    "wrappers in wrappers": ["timeout", "60", "timeout", "50", "nice", "APP"],
}
OTHERS = {
    "sh": ["sh", "-c", f"export A=1; {PYTHON} app.py 'a word'"],
    "a binding script": ["./bind.sh", PYTHON, "app.py", "a word"],
    "a second python": ["sh", "-c", f"{PYTHON} -c 'print(0)'; {PYTHON} app.py 'a word'"],
    "something after it": ["sh", "-c", f"{PYTHON} app.py 'a word'; true"],
    "a condition": ["sh", "-c", f"if true; then {PYTHON} app.py 'a word'; fi"],
    "a loop": ["bash", "-c", f"for i in 1; do {PYTHON} app.py 'a word'; done"],
    "another program beside it": ["sh", "-c", f"sleep 0.1 & {PYTHON} app.py 'a word'"],
    "timeout in sh": ["sh", "-c", f"export A=1; timeout 60 {PYTHON} app.py 'a word'"],
    "sh in timeout": ["timeout", "60", "sh", "-c", f"{PYTHON} app.py 'a word'; true"],
}


def start(job: Job, mpi: Mpi, line: list[str], **variables: str) -> Outcome:
    job.script(PROGRAM)
    job.script(BIND, "bind.sh").chmod(0o755)
    words = [word for given in line for word in ([PYTHON, "app.py", "a word"] if given == "APP" else [given])]
    environment = job.environment(mpi, **{**job.switches("sitecustomize"), **variables})
    return run([*mpi.command(2), *words], environment, 60, job.directory)


@pytest.mark.parametrize(("wrapper", "name"), crossed(LEADING, ["mpich", "openmpi"]))
def test_the_one_python_of_a_wrapper_is_served(job: Job, mpis: dict[str, Mpi], wrapper: str, name: str) -> None:
    outcome = start(job, mpis[name], LEADING[wrapper])
    assert (outcome.status, outcome.lines(), outcome.stderr) == (0, [SERVED] * 2, "")


@pytest.mark.parametrize("wrapper", OTHERS)
def test_behind_a_wrapper_that_may_run_more_it_is_plain(job: Job, mpich: Mpi, wrapper: str) -> None:
    outcome = start(job, mpich, OTHERS[wrapper])
    assert (outcome.status, [line for line in outcome.lines() if line != "0"]) == (0, [PLAIN] * 2)
    remedy = outcome.ours()[-1].rpartition("start it by ")[2]
    asked = [remedy if word == PYTHON else word.replace(f"{PYTHON} app", f"{remedy} app") for word in OTHERS[wrapper]]
    outcome = start(job, mpich, asked, **job.first_on_path())
    assert (outcome.status, [line for line in outcome.lines() if line != "0"]) == (0, [SERVED] * 2), outcome.stderr


ENDS = {
    "status": "sys.exit(3)",
    "at once": "os._exit(4)",
    "becomes another program": "os.execv('/bin/sh', ['sh', '-c', 'exit 6'])",
}


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_as_plainly(job: Job, mpich: Mpi, end: str) -> None:
    job.script(f"import json, os, sys; {ENDS[end]}", "ends.py")
    line = ["timeout", "60", PYTHON, "ends.py"]
    plain, served = (start(job, mpich, line, MPIIMPORT=switch) for switch in ("0", "force"))
    assert (plain.status, plain.stdout) == (served.status, served.stdout), served.stderr
    assert served.ours() == []


def test_a_python_that_comes_after_a_program_with_mpi_is_plain(job: Job, mpich: Mpi) -> None:
    """bash becomes its last command, which so looks like the rank's only program."""
    job.script("from mpi4py import MPI; print(MPI.COMM_WORLD.size)", "first.py")
    job.script("import json; print(type(json.__loader__).__name__)", "second.py")
    outcome = start(job, mpich, ["bash", "-c", f"MPIIMPORT=0 {PYTHON} first.py; {PYTHON} second.py"])
    assert (outcome.status, sorted(outcome.lines())) == (0, ["2", "2", "SourceFileLoader", "SourceFileLoader"])
    assert "has used MPI before" in outcome.stderr


def test_a_snapshot_and_a_store_of_a_session_serve_behind_every_wrapper(job: Job, mpich: Mpi) -> None:
    """Both were made for python-mpi, and the jobs are shells with an unchanged python."""
    script = job.script(PROGRAM)
    settle(script)
    stored = {"MPIIMPORT_STORE": str(job.stores()), "MPIIMPORT_SNAPSHOTS": str(job.library()), "MPIIMPORT": "1"}
    variables = {**job.first_on_path(), **stored}
    program = [*mpich.command(1), str(job.prefix / "bin" / "python-mpi"), "app.py", "a word"]
    begun = job.tool("session", "start", "--", *program, **job.environment(mpich, **variables))
    assert begun.status == 0, begun
    assert job.prepare(program, job.environment(mpich, **variables)) == ""
    kept = {"MPIIMPORT_CACHE": "session", "MPIIMPORT_SNAPSHOT": "0"}
    for way, changes in (("from a snapshot", {}), ("2 ranks: from a session", kept)):
        environment = job.environment(mpich, **variables, **changes)
        for wrapper in ("a condition", "something after it", "a loop"):
            line = [word.replace(PYTHON, "python") for word in OTHERS[wrapper]]
            outcome = job.tool("run", "--", *mpich.command(2), *line, **environment)
            assert outcome.status == 0 and f"mpiimport: {way}\n" in outcome.stderr, (wrapper, outcome)
