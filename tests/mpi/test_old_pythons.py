"""A Python that is too old to be served runs the program plainly, through each entry point; rank 0 says so, once."""

import json
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import Job, provision

OLD = ("2.7", "3.6", "3.9")
PROGRAM = """
import json, os, sys
print(json.dumps([
    os.environ["PMI_RANK"], sys.version_info[0], sys.argv, sys.flags.no_site, getattr(sys, "customised", None),
    sorted(name for name in sys.modules if name.startswith("mpiimport")), sys.path[1:],
    os.environ["PYTHONPATH"].split(":"),
]))
"""
WORDS: dict[str, list[str]] = {
    "script": ["app.py", "a", "-S"],
    "module": ["-m", "app", "a"],
    "code": ["-c", PROGRAM, "a"],
    "flags": ["-B", "-W", "ignore", "app.py"],
    "no site": ["-S", "app.py"],
}
ENTRY_POINTS = ("early", "sitecustomize", "module", "entry")


class Old:
    """Starts an old Python by the entry points; a ``sitecustomize`` is the user's own."""

    def __init__(self, job: Job, mpich: Mpi, version: str) -> None:
        self._job, self._mpich = job, mpich
        self._python = str(provision("python.sh", version))
        job.script(PROGRAM)
        own = job.script("import sys; sys.customised = True", "own/sitecustomize.py")
        self._environment = job.environment(mpich, PYTHONPATH=str(own.parent), PYTHONDONTWRITEBYTECODE="1")

    def run(self, entry_point: str, words: list[str]) -> Outcome:
        package = self._job.prefix / "lib" / "mpiimport"
        at = {"sitecustomize": package / "pythonpath", "module": package.parent}.get(entry_point)
        environment = self._environment | ({} if entry_point == "plain" else {"MPIIMPORT": "force"})
        if at:
            environment["PYTHONPATH"] = f"{at}:{environment['PYTHONPATH']}"
        line = [self._python, *words]
        if entry_point == "entry":
            line = [str(self._job.prefix / "bin" / "mpiimport-entry"), *line]
        elif entry_point in ("early", "module"):
            flags = next(i for i, word in enumerate(words) if word in ("app.py", "-m", "-c"))
            ours = ["-S", str(package / "start.py")] if entry_point == "early" else ["-m", "mpiimport"]
            line = [self._python, *words[:flags], *ours, *words[flags:]]
        return run([*self._mpich.command(2), *line], environment, 60, self._job.directory)


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("version", OLD)
def test_an_old_python_runs_the_program_as_plainly(job: Job, mpich: Mpi, version: str, kind: str) -> None:
    old = Old(job, mpich, version)
    plain = old.run("plain", WORDS[kind])
    assert plain.status == 0, plain.stderr
    expected = [json.loads(line) for line in plain.lines()]
    assert len(expected) == 2
    for entry_point in ENTRY_POINTS:
        # Without site nobody runs a sitecustomize, by which the entry starts what the name python2 says to be old.
        if kind == "no site" and (entry_point == "sitecustomize" or (entry_point, version) == ("entry", "2.7")):
            continue
        outcome = old.run(entry_point, WORDS[kind])
        seen = [json.loads(line) for line in outcome.lines()]
        for paths in (facts[-2:] for facts in seen if entry_point == "module"):
            # The place of the package, which is on PYTHONPATH there, stays.
            for path in paths:
                path[:] = [entry for entry in path if entry != str(job.prefix / "lib")]
        assert (entry_point, outcome.status, seen) == (entry_point, 0, expected), outcome.stderr
        (line,) = outcome.ours()
        assert line.endswith(f"plain Python: only CPython 3.10 and newer is served, and this is {version}"), line
        assert outcome.stderr.strip() == line


def test_options_of_ours_are_an_error_on_an_old_python(job: Job, mpich: Mpi) -> None:
    old = Old(job, mpich, "3.9")
    outcome = old.run("module", ["-m", "mpiimport", "-v", "app.py"])
    assert outcome.status == 1 and "leave out -m mpiimport and its options" in outcome.stderr


def test_a_python_whose_name_says_that_it_is_old_is_started_once(job: Job, mpich: Mpi, tmp_path: Path) -> None:
    python = tmp_path / "python3.9"
    python.write_text('#!/bin/sh\necho "started $*"\n')
    python.chmod(0o755)
    entry = str(job.prefix / "bin" / "mpiimport-entry")
    outcome = run([*mpich.command(2), entry, str(python), "app.py"], job.environment(mpich, MPIIMPORT="force"), 60)
    assert outcome.lines() == ["started app.py"] * 2
