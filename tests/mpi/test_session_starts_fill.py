"""`mpiimport session start` fills a store, by whichever name the program is started, and never runs it."""

import py_compile
import sys

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import Job, but_everyday, settle
from tests.mpi.test_python_mpi import PATH, PIPS, binary, console_script

PROGRAM = """
# Not to be taken for a shell's: unset PYTHONPATH
import json, os
from mpi4py import MPI
with open(os.environ["RESULT"], "a") as stream:
    stream.write("ran\\n")
import lib
print(type(getattr(lib.__loader__, "source", None)).__name__ == "Imports")
"""


def call(job: Job, mpi: Mpi, words: list[str], *line: str, **variables: str) -> Outcome:
    packages = job.directory / "packages"
    if not packages.exists():
        packages.mkdir()
        (job.directory / "stores").mkdir()
        job.script(PROGRAM)
        job.script("", "packages/lib.py")
        py_compile.compile(str(packages / "lib.py"))
    settle(*packages.rglob("*"), *(job.directory / "bin").glob("*"))
    own = {"RESULT": str(job.directory / "result"), "PATH": f"{job.directory}/bin:{PATH}"}
    own |= {"PYTHONPATH": str(job.directory / "packages"), "MPIIMPORT_STORE": str(job.directory / "stores")}
    return job.tool(*words, *line, **job.environment(mpi, **{**own, **variables}))


def start(job: Job, mpi: Mpi, *line: str) -> Outcome:
    outcome = call(job, mpi, ["session", "start", "--"], *line)
    assert not (job.directory / "result").exists(), "the program has run"
    return outcome


def assert_fills(job: Job, mpi: Mpi, *line: str) -> None:
    filled = start(job, mpi, *line)
    assert (filled.status, filled.stdout, filled.stderr) == (0, "", ""), line


@pytest.mark.parametrize("first", but_everyday([f"#!{sys.executable}", "#!/usr/bin/env python3", PIPS], {PIPS}))
def test_a_console_script_fills(job: Job, mpich: Mpi, first: str) -> None:
    console_script(job.directory, PROGRAM, first)
    assert_fills(job, mpich, *mpich.command(1), "fit")
    served = call(job, mpich, ["run", "--"], *mpich.command(2), "fit", MPIIMPORT_CACHE="session")
    assert served.lines() == ["True"] * 2, served.stderr


def test_a_launcher_that_mpiimport_runs_fills_and_is_no_job(job: Job, mpich: Mpi) -> None:
    console_script(job.directory, PROGRAM)
    assert_fills(job, mpich, str(job.prefix / "bin" / "mpiimport"), "run", "--", *mpich.command(1), "fit")


def test_so_does_a_task(job: Job, mpich: Mpi) -> None:
    console_script(job.directory, PROGRAM)
    assert_fills(job, mpich, "fit")


def test_so_do_a_python_and_one_behind_a_wrapper(job: Job, mpich: Mpi) -> None:
    for line in (["python", "app.py"], ["timeout", "60", "python", "app.py"], ["sh", "-c", "A=1; python app.py"]):
        assert_fills(job, mpich, *mpich.command(1), *line)
        served = call(job, mpich, ["run", "--"], *mpich.command(2), *line, MPIIMPORT_CACHE="session")
        assert served.lines() == ["True"] * 2, served.stderr
        (job.directory / "result").unlink()


@pytest.mark.parametrize("options", but_everyday(["-I", "-Es", "-u -E", "-S"], {"-u -E", "-S"}))
def test_a_python_that_does_not_look_at_its_path_is_not_run(job: Job, mpich: Mpi, options: str) -> None:
    console_script(job.directory, PROGRAM, f"#!{sys.executable} {options.replace(' -', '')}")
    for line in (["fit"], ["python", *options.split(), "app.py"]):
        refused = start(job, mpich, *mpich.command(1), *line)
        assert refused.status == 1 and "nothing was run" in refused.stderr, refused
    remedy = binary(job)
    assert remedy in refused.stderr
    assert_fills(job, mpich, *mpich.command(1), remedy, "fit")


@pytest.mark.parametrize(
    "taken",
    but_everyday(["unset A PYTHONPATH", "export PYTHONPATH=/opt/x", "PYTHONPATH= PYTHONHOME="], {"unset A PYTHONPATH"}),
)
def test_a_wrapper_that_takes_the_search_path_away_is_not_run(job: Job, mpich: Mpi, taken: str) -> None:
    job.script(f"#!/bin/sh\n{taken}\nexec python app.py\n", "go.sh").chmod(0o755)
    for line in (["./go.sh"], ["sh", "-c", f"{taken}; python app.py"]):
        refused = start(job, mpich, *mpich.command(1), *line)
        assert refused.status == 1 and taken in refused.stderr, refused


@pytest.mark.parametrize(
    "wrapper", [["env", "A=1"], ["nice"], ["timeout", "60"], ["bash", "-c"], ["./go.sh"]], ids=" ".join
)
def test_a_task_behind_a_wrapper_fills(job: Job, mpich: Mpi, wrapper: list[str]) -> None:
    job.script('#!/bin/bash\nexec "$@"\n', "go.sh").chmod(0o755)
    assert_fills(job, mpich, *wrapper, *(["python app.py"] if "-c" in wrapper else ["python", "app.py"]))


@pytest.mark.parametrize(
    "taking", [["env", "-u", "PYTHONPATH"], ["env", "MPIIMPORT=0"], ["env", "-i", "PATH=/bin"]], ids=" ".join
)
def test_a_line_that_takes_it_away_is_not_run(job: Job, mpich: Mpi, taking: list[str]) -> None:
    for front in ([], mpich.command(1)):
        refused = start(job, mpich, *front, *taking, "python", "app.py")
        assert refused.status == 1 and "nothing was run" in refused.stderr, refused


def test_a_wrapper_that_adds_to_it_fills(job: Job, mpich: Mpi) -> None:
    job.script("#!/bin/sh\nexport PYTHONPATH=/opt/x${PYTHONPATH:+:$PYTHONPATH}\nexec python app.py\n", "go.sh").chmod(
        0o755
    )
    assert_fills(job, mpich, *mpich.command(1), "./go.sh")


def test_a_program_without_python_is_not_run(job: Job, mpich: Mpi) -> None:
    refused = start(job, mpich, *mpich.command(1), "touch", str(job.directory / "result"))
    assert refused.status == 1 and "names no program of Python" in refused.stderr
