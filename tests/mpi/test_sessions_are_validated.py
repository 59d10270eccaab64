"""`mpiimport session status` and `refresh` look at each store from where its paths mean what they meant, or say why not."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from lab.ranks import Outcome, clean_environment, run
from tests.conftest import Job, install_in, interpreter, settle, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have another view of the file system")

SHOW = """
import part
came = type(getattr(part.__loader__, "source", None)).__name__
print("served" if came == "Imports" else "plain", part.value, flush=True)
"""
# By another name the directory is seen only in the view of the command.
BOUND = 'mkdir -p /tmp/$NAME && mount --bind "$TREE" /tmp/$NAME && exec "$@"'


class Elsewhere:
    """A program whose modules are mounted for its processes alone, as a container's are."""

    def __init__(self, job: Job, python: Path) -> None:
        self.job = job
        self.tree = job.directory / "lib"
        install_in(self.tree)
        self.part = self.tree / "part.py"
        self.write("one")
        self.script = job.script(SHOW)
        bound = ["unshare", "-m", "sh", "-c", BOUND, "sh"]
        self.line = [*bound, str(job.prefix / "bin" / "python-mpi"), str(self.script)]
        self._python = python

    def write(self, value: str) -> None:
        self.part.write_text(f"value = {value!r}\n")
        settle(self.tree, self.part)

    def run(self, *words: str, **variables: str) -> Outcome:
        name = f"bound-{self.job.directory.name}"
        own = {
            "PATH": f"{self._python.parent}:{os.environ['PATH']}",
            "NAME": name,
            "TREE": str(self.tree),
            "PYTHONPATH": f"/tmp/{name}",
            "MPIIMPORT": "1",
            "MPIIMPORT_STORE": str(self.job.stores()),
        }
        try:
            return run([*words], clean_environment(**{**own, **variables}), 60, self.job.directory)
        finally:
            shutil.rmtree(Path("/tmp") / name, ignore_errors=True)

    def session(self, *words: str) -> Outcome:
        return self.run(str(self.job.prefix / "bin" / "mpiimport"), "session", *words)

    def status(self) -> str:
        """What is said of the one store."""
        outcome = self.session("status")
        assert outcome.status == 0, outcome
        (line,) = (line for line in outcome.stdout.splitlines() if str(self.script) in line)
        return line


@pytest.fixture
def elsewhere(job: Job) -> Elsewhere:
    return Elsewhere(job, Path(sys.executable))


def test_what_only_the_command_sees_is_looked_at_by_it(elsewhere: Elsewhere) -> None:
    assert elsewhere.session("start", "--", *elsewhere.line).status == 0
    assert elsewhere.run(*elsewhere.line, MPIIMPORT_CACHE="session").lines() == ["served one"]
    assert elsewhere.status().endswith(" now")
    assert elsewhere.session("refresh").stdout == "the tree is as the stores say\n"
    elsewhere.write("two")
    changed = f"/tmp/bound-{elsewhere.job.directory.name}/part.py has changed since"
    assert elsewhere.status().endswith(changed)
    refreshed = elsewhere.session("refresh")
    assert (refreshed.status, refreshed.stdout) == (0, f"script {elsewhere.script}: {changed}\n"), refreshed.stderr
    assert elsewhere.run(*elsewhere.line, MPIIMPORT_CACHE="session").lines() == ["served two"]


def test_what_differs_from_the_nearest_store_is_named(elsewhere: Elsewhere) -> None:
    assert elsewhere.session("start", "--", *elsewhere.line).status == 0
    other = elsewhere.job.script(SHOW, "other.py")
    plain = elsewhere.run(*elsewhere.line[:-1], str(other), MPIIMPORT_CACHE="session")
    assert f": the nearest one has the program 'script {elsewhere.script}', not 'script {other}'" in plain.stderr, plain
    path = f"/opt/nowhere:/tmp/bound-{elsewhere.job.directory.name}"
    plain = elsewhere.run(*elsewhere.line, MPIIMPORT_CACHE="session", PYTHONPATH=path)
    assert ": the nearest one has another search path, without '/opt/nowhere'" in plain.stderr, plain


def test_what_is_refused_is_no_use_of_a_store(elsewhere: Elsewhere) -> None:
    """What may be written to is in no store, so a process takes none that has its own directory."""
    assert elsewhere.session("start", "--", *elsewhere.line).status == 0
    there = [word.replace("exec", "cd /tmp/$NAME && exec") for word in elsewhere.line]
    outcome = elsewhere.run(*there, MPIIMPORT_CACHE="session")
    assert outcome.lines() == ["plain one"] and "no session keeps a store" in outcome.stderr, outcome
    assert ", no process so far" in elsewhere.status()


def test_what_another_python_has_kept_is_looked_at_by_that(job: Job) -> None:
    """Its stores are in a format of its own."""
    other = Elsewhere(job, interpreter("3.14"))
    variables = {"PYTHONPATH": str(other.tree)}
    line = other.line[-2:]

    def session(*words: str) -> Outcome:
        return other.run(str(job.prefix / "bin" / "mpiimport"), "session", *words, **variables)

    assert session("start", "--", *line).status == 0
    assert session("refresh").stdout == "the tree is as the stores say\n"
    other.write("two")
    assert session("refresh").stdout == f"script {other.script}: {other.part} has changed since\n"
    assert other.run(*line, **variables, MPIIMPORT_CACHE="session").lines() == ["served two"]


def test_what_nothing_here_can_look_at_is_said_to_be_unseen(elsewhere: Elsewhere) -> None:
    first = elsewhere.run(*elsewhere.line, MPIIMPORT_CACHE="auto")
    assert first.lines() == ["plain one"]
    wait_for(lambda: list(elsewhere.job.stores().glob("*/programs/*")))
    unseen = "not validated: no session start has filled it on this node"
    assert elsewhere.status().endswith(unseen)
    refreshed = elsewhere.session("refresh")
    assert refreshed.status == 1 and unseen in refreshed.stdout and "as the stores say" not in refreshed.stdout


def test_what_its_command_does_not_come_to_is_filled_anew(elsewhere: Elsewhere) -> None:
    """It leads to another interpreter, or to one with other flags, by now."""
    assert elsewhere.session("start", "--", *elsewhere.line).status == 0
    (file,) = elsewhere.job.stores().glob("*/stores/*/command")
    command = json.loads(file.read_text())
    command["environment"]["PYTHONSAFEPATH"] = "1"
    file.write_text(json.dumps(command))
    unseen = "not validated: the command of session start did not come to it"
    assert elsewhere.status().endswith(unseen)
    refreshed = elsewhere.session("refresh")
    assert refreshed.status == 0 and unseen in refreshed.stdout, refreshed
    assert len(list(elsewhere.job.stores().glob("*/programs/*"))) == 1
