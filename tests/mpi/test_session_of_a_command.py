"""``mpiimport run --session``: what a command's processes keep is there for all of them, and gone when it has ended."""

import os
import py_compile
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import Job, install_in, settle, wait_for

SHOW = """
import part
print(part.value, type(getattr(part.__loader__, "source", None)).__name__ == "Imports", flush=True)
"""
UNTIL_KEPT = (
    f"until ls $MPIIMPORT_STORE/mpiimport-{os.geteuid()}.session-*/programs/* >/dev/null 2>&1; do sleep 0.1; done"
)
# Whoever holds the lock of the session's place.
KILL_THE_CLEANER = """
for process in /proc/[0-9]*; do
    if ls -l $process/fd 2>/dev/null | grep -q "$MPIIMPORT_STORE/.*/lock"; then kill -9 ${process#/proc/}; fi
done
"""
Session = Callable[..., Outcome]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "stores"
    path.mkdir()
    return path


@pytest.fixture
def variables(job: Job, mpich: Mpi, store: Path) -> dict[str, str]:
    lib = job.directory / "lib"
    install_in(lib)
    (lib / "part.py").write_text("value = 'old'\n")
    # Else the first task changes the directory.
    py_compile.compile(str(lib / "part.py"))
    job.script(SHOW, "task.py")
    return job.environment(mpich, MPIIMPORT_STORE=str(store), PYTHONPATH=f"{job.prefix / 'lib'}:{lib}")


@pytest.fixture
def session(job: Job, variables: dict[str, str]) -> Session:
    """Run shell commands in a session, in which $TASK is a task."""

    def start(text: str, **more: str) -> Outcome:
        task = f"TASK='{' '.join(job.python('module'))} task.py'\n"
        settle(job.directory / "lib", *(job.directory / "lib").rglob("*"))
        return job.tool("run", "--session", "--", "sh", "-c", task + text, **{**variables, **more})

    return start


def assert_gone(store: Path) -> None:
    """A process that is no part of the command removes the stores."""
    wait_for(lambda: not list(store.iterdir()))


def test_a_command_has_its_stores_until_it_ends(session: Session, store: Path) -> None:
    outcome = session(f"$TASK; {UNTIL_KEPT}; $TASK; ls $MPIIMPORT_STORE/*/filling | wc -l; exit 7")
    # By two entry points at once, of which one serves.
    assert (outcome.status, outcome.lines()) == (7, ["1", "old False", "old True"]), outcome.stderr
    assert_gone(store)


def test_it_has_them_in_a_batch_job_too(session: Session, store: Path) -> None:
    outcome = session(f"$TASK; {UNTIL_KEPT}; $TASK; ls $MPIIMPORT_STORE", SLURM_JOB_ID="77")
    (name, *lines), status = outcome.lines(), outcome.status
    assert (status, lines) == (0, ["old False", "old True"]), outcome.stderr
    # An epilog can tell whose it is.
    assert name.endswith(".77")
    assert_gone(store)


def test_two_at_once_share_nothing(session: Session, job: Job, store: Path) -> None:
    inner = f"{job.prefix / 'bin' / 'mpiimport'} run --session -- sh -c '$TASK'"
    until_gone = "until [ $(ls -d $MPIIMPORT_STORE/* | wc -l) = 1 ]; do sleep 0.1; done"
    outcome = session(f"$TASK; {UNTIL_KEPT}; export TASK; {inner}; {until_gone}; $TASK")
    assert (outcome.status, outcome.lines()) == (0, ["old False", "old False", "old True"]), outcome.stderr
    assert_gone(store)


def test_within_a_session_the_tree_is_taken_to_be_as_it_was(session: Session) -> None:
    outcome = session(f"$TASK; {UNTIL_KEPT}; echo 'value = 1' >lib/part.py; $TASK")
    assert outcome.lines() == ["old False", "old True"], outcome.stderr
    assert session("$TASK").lines() == ["1 False"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_session_is_the_command(session: Session, store: Path, number: int) -> None:
    """A signal reaches it as plainly, and it ends as it would."""
    died = session(f"kill -{number} $$; sleep 20")
    assert died.status == -number
    assert_gone(store)


def test_what_is_waited_for_is_the_commands_own(session: Session, store: Path) -> None:
    assert session("sleep 0.1 & wait; echo waited; ps -o pid= --ppid $$ | wc -l").lines() == ["2", "waited"]
    assert_gone(store)


def test_nobody_holds_what_the_command_wrote_to(session: Session, store: Path) -> None:
    began = time.monotonic()
    assert session("echo here").lines() == ["here"]
    # The end of the output shows at once, and not when the stores are gone.
    assert_gone(store)
    assert time.monotonic() - began < 60


def test_what_a_killed_session_leaves_the_next_removes(session: Session, store: Path) -> None:
    killed = session(KILL_THE_CLEANER)
    assert (killed.status, len(list(store.iterdir()))) == (0, 1), killed.stderr


def test_a_session_may_be_stopped_from_within(session: Session, job: Job, store: Path) -> None:
    stop = f"{job.prefix / 'bin' / 'mpiimport'} session stop"
    outcome = session(f"$TASK; {UNTIL_KEPT}; {stop}; echo $?; $TASK; {UNTIL_KEPT}; $TASK")
    assert outcome.lines() == ["0", "old False", "old False", "old True"], outcome.stderr
    assert_gone(store)


def test_a_session_that_cannot_keep_anything_does_not_begin(session: Session, tmp_path: Path) -> None:
    refused = session("echo ran", MPIIMPORT_STORE=str(tmp_path / "none"))
    assert (refused.status, refused.stdout) == (1, "")
    assert "cannot be written to; name another directory with MPIIMPORT_STORE" in refused.stderr


def test_where_others_may_rename_the_command_runs_without_a_session(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o777)
    outcome = session("echo ran", MPIIMPORT_STORE=str(place))
    assert (outcome.status, outcome.stdout) == (0, "ran\n")
    assert f"the command runs without a session: others may rename what is in {place}" in outcome.stderr
    assert list(place.iterdir()) == []


def test_a_command_that_is_not_there_leaves_nothing(job: Job, variables: dict[str, str], store: Path) -> None:
    refused = job.tool("run", "--session", "--", "no-such-launcher", **variables)
    said = "mpiimport: no-such-launcher cannot be started: No such file or directory\n"
    assert (refused.status, refused.stderr) == (127, said)
    assert_gone(store)
