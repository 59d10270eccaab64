"""PREFIX/bin/python-mpi is the python of PATH, which imports through mpiimport."""

import json
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job

SHOW = """
import json, os, sys
seen = [sys.argv, sys.orig_argv, sys.executable, sys.prefix, sys.path, repr(sys.flags), "site" in sys.modules]
import numpy
served = type(getattr(numpy.__loader__, "source", None)).__name__ == "Imports"
os.write(1, (json.dumps([served, seen, sorted(os.environ)]) + "\\n").encode())
"""
PATH = f"{Path(sys.executable).parent}:/usr/bin:/bin"
FORCED = {"MPIIMPORT": "force", "MPIIMPORT_LIBRARIES": "stage"}


def start(job: Job, mpi: Mpi, ranks: int, python: str, *words: str | Path, **variables: str) -> Outcome:
    """Run ranks that find their Python on PATH."""
    environment = job.environment(mpi, **{"PATH": PATH, **variables})
    return run([*mpi.command(ranks), python, *map(str, words)], environment, 60, job.directory)


def binary(job: Job) -> str:
    return str(job.prefix / "bin" / "python-mpi")


@pytest.mark.parametrize("kind", ["script", "module", "code"])
def test_ranks_are_served_and_see_what_python_shows(job: Job, mpich: Mpi, kind: str) -> None:
    script = str(job.script(SHOW))
    words = {"script": [script], "module": ["-m", "app"], "code": ["-c", SHOW]}[kind]
    plain, served = (
        start(job, mpich, 2, python, *words, "-x", "a word", **FORCED) for python in ("python", binary(job))
    )
    assert (plain.status, served.status, served.stderr) == (0, 0, "")
    assert [json.loads(line)[0] for line in plain.lines()] == [False] * 2
    assert [json.loads(line) for line in served.lines()] == [[True, *json.loads(plain.lines()[0])[1:]]] * 2


@pytest.mark.parametrize("options", ["-u", "-O -W error::ImportWarning", "-Xutf8 -OO -B", "-b -X dev -E"])
def test_options_of_python_are_python_s(job: Job, mpich: Mpi, options: str) -> None:
    words = [*options.split(), str(job.script(SHOW))]
    plain = start(job, mpich, 2, "python", *words, **FORCED)
    served = start(job, mpich, 2, binary(job), "-T", str(job.directory), *words, **FORCED)
    assert (plain.status, served.status, served.ours()) == (0, 0, [])
    assert [json.loads(line) for line in served.lines()] == [[True, *json.loads(plain.lines()[0])[1:]]] * 2


def test_tasks_import_from_a_kept_store(job: Job, mpich: Mpi, tmp_path: Path) -> None:
    script = job.script(SHOW)
    (tmp_path / "stores").mkdir()
    variables = {"MPIIMPORT_STORE": str(tmp_path / "stores"), "MPIIMPORT_CACHE": "auto"}
    filled = start(job, mpich, 1, binary(job), script, MPIIMPORT_FILL="1", **variables)
    assert (filled.status, filled.stdout, filled.stderr) == (0, "", "")
    outcome = start(job, mpich, 2, binary(job), script, **variables)
    assert [json.loads(line)[0] for line in outcome.lines()] == [True] * 2, outcome.stderr


def test_options_of_mpiimport_stand_in_front_of_the_program(job: Job, mpich: Mpi) -> None:
    report = job.directory / "report.json"
    words = ["--report", str(report), str(job.script(SHOW))]
    outcome = start(job, mpich, 2, binary(job), *words, **FORCED)
    assert (outcome.status, len(outcome.lines())) == (0, 2), outcome.stderr
    assert json.loads(report.read_text())
    refused = start(job, mpich, 1, binary(job), "--nonsense", "app.py")
    assert refused.status == 2 and "unknown option --nonsense" in refused.stderr


def test_where_there_is_no_python_it_is_python3(job: Job, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "python3").symlink_to(sys.executable)
    words = [binary(job), "-c", "import sys; print(sys.orig_argv[0])"]
    outcome = run(words, {"PATH": str(alone)}, 60, job.directory)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "python3\n", "")


def test_where_there_is_none_it_ends_as_a_shell(job: Job, tmp_path: Path) -> None:
    outcome = run([binary(job), "app.py"], {"PATH": str(tmp_path)}, 60, job.directory)
    assert (outcome.status, outcome.stderr) == (127, "python-mpi: python3: command not found\n")


def test_a_python_that_leads_here_again_is_refused(job: Job, tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(binary(job))
    outcome = run([binary(job), "app.py"], {"PATH": str(tmp_path)}, 60, job.directory)
    assert outcome.status == 126
    assert outcome.stderr == (
        "python-mpi: the python on PATH leads to python-mpi again; put the directory of a Python first\n"
    )


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("MPIIMPORT_CACH", "MPIIMPORT_CACH is no option, and changes nothing; did you mean MPIIMPORT_CACHE?"),
        ("MPIIMPORT_PYTHON", "MPIIMPORT_PYTHON is no option, and changes nothing"),
    ],
)
def test_a_variable_that_is_no_option_is_named_once(job: Job, mpich: Mpi, variable: str, said: str) -> None:
    outcome = start(job, mpich, 2, binary(job), job.script(SHOW), **FORCED, **{variable: "auto"})
    assert [json.loads(line)[0] for line in outcome.lines()] == [True] * 2
    assert outcome.stderr == f"mpiimport: {said}\n"


def console_script(directory: Path, text: str, first: str = f"#!{sys.executable}") -> Path:
    path = directory / "bin" / "fit"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{first}\n{text}")
    path.chmod(0o755)
    return path


PIPS = f"#!/bin/sh\n'''exec' {sys.executable} \"$0\" \"$@\"\n' '''"


@pytest.mark.parametrize("first", [f"#!{sys.executable}", "#!/usr/bin/env python3", PIPS])
def test_a_console_script_is_looked_for_on_path(job: Job, mpich: Mpi, tmp_path: Path, first: str) -> None:
    script = console_script(tmp_path, SHOW, first)
    variables = {"PATH": f"{script.parent}:{PATH}", **FORCED}
    plain = start(job, mpich, 2, "fit", "-x", **variables)
    served = start(job, mpich, 2, binary(job), "fit", "-x", **variables)
    assert (plain.status, served.status, served.stderr) == (0, 0, "")
    assert [json.loads(line) for line in served.lines()] == [[True, *json.loads(plain.lines()[0])[1:]]] * 2
    flags = ["-d", "--report", str(tmp_path / "report.json")]
    assert start(job, mpich, 2, binary(job), *flags, "fit", "-x", **variables).lines() == plain.lines()


def test_a_file_in_the_current_directory_comes_first(job: Job, tmp_path: Path) -> None:
    script = console_script(tmp_path, "print('on PATH')")
    job.script("print('here')", "fit")
    outcome = run([binary(job), "fit"], {"PATH": f"{script.parent}:{PATH}"}, 60, job.directory)
    assert (outcome.status, outcome.stdout) == (0, "here\n")


@pytest.mark.parametrize("name", ["sh", "nosuchcommand"])
def test_what_is_no_script_of_python_is_not_run(job: Job, name: str) -> None:
    outcome = run([binary(job), name, "-c", "echo ran"], {"PATH": PATH}, 60, job.directory)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert f"can't open file '{job.directory}/{name}'" in outcome.stderr
