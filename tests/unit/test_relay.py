"""A rank that ends at once or becomes another program leaves a launcher of PMI-1 with what it would hear without us."""

import os
import socket
import subprocess
import sys

import pytest

from mpiimport.runtime.mpi.pmi_connection import CONNECTION, HYDRA
from mpiimport.runtime.mpi.relay import CRASH, END, ENDED

SECONDS = 20
INIT, STARTED = (
    b"cmd=init pmi_version=1 pmi_subversion=1\n",
    b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
)
QUESTION, ANSWER = b"cmd=get_maxes\n", b"cmd=maxes\n"
# `ask` says what an MPI library would say, and prints the answer.
SPEECH = """
import os, socket, sys
number = int(os.environ["PMI_FD"])
def ask(words):
    os.write(number, words)
    os.write(1, os.read(number, 100))
"""
RANK = f"""{SPEECH}
from mpiimport.runtime.mpi.pmi_connection import Connection
connection = Connection()
def become(finalize, text):
    connection.leave_to_heir(finalize)
    os.execv(sys.executable, [sys.executable, "-c", {SPEECH!r} + text])
def as_intel():
    ask({END!r})
    socket.socket(fileno=number).shutdown(socket.SHUT_RDWR)
"""


class Launcher:
    """The far end of the connection that ``program`` is started with, after RANK."""

    def __init__(self, program: str, name: str = HYDRA) -> None:
        self._end, given = socket.socketpair()
        self._end.settimeout(SECONDS)
        environment = {**os.environ, CONNECTION: str(given.fileno()), name: "0"}
        command = [sys.executable, "-c", RANK + program]
        self._rank = subprocess.Popen(
            command, env=environment, pass_fds=[given.fileno()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        given.close()

    def hear(self, answer: bytes = b"") -> bytes:
        """Return the next words and answer them; nothing once all have hung up."""
        words = self._end.recv(1000)
        if answer:
            self._end.sendall(answer)
        return words

    def hang_up(self) -> None:
        self._end.close()

    def printed(self) -> bytes:
        """What the rank and its heir printed, once they have ended well."""
        text = self._rank.communicate(timeout=SECONDS)[0]
        assert self._rank.returncode == 0, text
        return text


TAKE = "os.dup2(os.open('/tmp', os.O_TMPFILE | os.O_RDWR), number)"
SIZE = "os.write(1, b'%d' % os.fstat(number).st_size)"
# What a rank does, how its launcher is told by the environment, whether that hears of the end, and what is printed.
ENDS = {
    "hydra hears of it once": ("connection.end(); os.write(1, b'said')", HYDRA, True, b"said"),
    "other launchers hear nothing": ("connection.end(); os.write(1, b'unsaid')", "SLURM_PROCID", False, b"unsaid"),
    "nor does a file that has got the number": (f"{TAKE}; connection.end(); {SIZE}", HYDRA, False, b"0"),
    "not by an heir either": (f"{TAKE}; connection.leave_to_heir(lambda: None); {SIZE}", HYDRA, False, b"0"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_said_to_hydra_alone(name: str) -> None:
    program, variable, is_heard, printed = ENDS[name]
    launcher = Launcher(program, variable)
    if is_heard:
        assert launcher.hear(ENDED) == END
    assert launcher.hear() == b""
    assert launcher.printed() == printed


@pytest.mark.parametrize("finalize", ["lambda: None", f"lambda: ask({QUESTION!r})", "as_intel"])
def test_an_heir_may_start_mpi_and_end_it(finalize: str) -> None:
    launcher = Launcher(f"become({finalize}, {f'[ask(words) for words in {(INIT, QUESTION, END)}]'!r})")
    own = b"" if finalize == "lambda: None" else ENDED
    if "ask" in finalize:
        assert launcher.hear(ANSWER) == QUESTION
        own = ANSWER
    assert launcher.hear(ANSWER) == QUESTION
    assert launcher.hear(ENDED) == END
    launcher.hang_up()
    assert launcher.printed() == own + STARTED + ANSWER + ENDED


SECOND = INIT.replace(b"pmi_version=1", b"pmi_version=2")
ASKS_IF_CHILDLESS = f"""
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    ask({INIT!r})
"""
# The heir closes the only writing end of a pipe that it inherits, and then its reading end shows the end.
PIPE = "reading, writing = os.pipe(); [os.set_inheritable(end, True) for end in (reading, writing)]"
ASKS_IF_CLOSED = f"os.close(writing); ask({INIT!r}) if os.read(reading, 1) == b'' else None"
# What a rank does that becomes another program, which starts MPI and does not end it; and what both print.
CRASHES = {
    "of a rank with MPI": (f"become(as_intel, {f'ask({INIT!r})'!r})", ENDED + STARTED),
    "by the second version of the protocol": (
        f"become(as_intel, {f'ask({SECOND!r})'!r})",
        ENDED + STARTED.replace(b"pmi_version=1", b"pmi_version=2"),
    ),
    "without a child, even of a rank that ignores their end": (
        f"import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); become(lambda: None, {ASKS_IF_CHILDLESS!r})",
        STARTED,
    ),
    "with nothing else of the rank held open": (
        f"{PIPE}; become(lambda: None, f'reading, writing = {{reading}}, {{writing}}\\n' + {ASKS_IF_CLOSED!r})",
        STARTED,
    ),
}


@pytest.mark.parametrize("name", CRASHES)
def test_an_heir_that_starts_mpi_and_does_not_end_it_has_crashed(name: str) -> None:
    program, printed = CRASHES[name]
    launcher = Launcher(program)
    assert launcher.hear() == CRASH
    assert launcher.hear() == b""
    assert launcher.printed() == printed
