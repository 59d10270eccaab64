"""A rank that ends at once or becomes another program leaves a launcher of PMI-1 with what it would hear without us."""

import os
import socket
import subprocess
import sys

import pytest

from mpiimport.runtime.mpi.pmi_connection import ADDRESS, CONNECTION, HYDRA
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


def test_the_end_is_said_to_hydra_once() -> None:
    launcher = Launcher("connection.end(); os.write(1, b'said')")
    assert launcher.hear(ENDED) == END
    assert launcher.hear() == b""
    assert launcher.printed() == b"said"


def test_other_launchers_are_told_nothing() -> None:
    launcher = Launcher("connection.end(); os.write(1, b'unsaid')", name="SLURM_PROCID")
    assert launcher.hear() == b""
    assert launcher.printed() == b"unsaid"


@pytest.mark.parametrize("end", ["connection.end()", "connection.leave_to_heir(lambda: None)"])
def test_nothing_is_written_to_a_file_that_has_got_the_number(end: str) -> None:
    take = "os.dup2(os.open('/tmp', os.O_TMPFILE | os.O_RDWR), number)"
    launcher = Launcher(f"{take}; {end}; os.write(1, b'%d' % os.fstat(number).st_size)")
    assert launcher.hear() == b""
    assert launcher.printed() == b"0"


def test_an_heir_without_mpi_has_ended_well() -> None:
    launcher = Launcher("become(lambda: None, \"sys.exit(os.write(1, b'heir') != 4)\")")
    assert launcher.printed() == b"heir"
    assert launcher.hear(ENDED) == END
    assert launcher.hear() == b""


def test_an_heir_of_an_heir_has_ended_well() -> None:
    launcher = Launcher("become(lambda: None, \"os.execlp('echo', 'echo', 'heir')\")")
    assert launcher.printed() == b"heir\n"
    assert launcher.hear(ENDED) == END


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


def test_an_heir_that_starts_mpi_and_does_not_end_it_has_crashed() -> None:
    launcher = Launcher(f"become(as_intel, {f'ask({INIT!r})'!r})")
    assert launcher.hear() == CRASH
    assert launcher.hear() == b""
    assert launcher.printed() == ENDED + STARTED


def test_an_heir_has_no_child_even_of_a_rank_that_ignores_their_end() -> None:
    look = f"""
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    ask({INIT!r})
"""
    ignore = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    launcher = Launcher(f"{ignore}; become(lambda: None, {look!r})")
    assert launcher.hear() == CRASH
    assert launcher.printed() == STARTED


def test_an_heir_may_ask_for_the_second_version_of_the_protocol() -> None:
    second = INIT.replace(b"pmi_version=1", b"pmi_version=2")
    launcher = Launcher(f"become(as_intel, {f'ask({second!r})'!r})")
    assert launcher.hear() == CRASH
    assert launcher.printed() == ENDED + STARTED.replace(b"pmi_version=1", b"pmi_version=2")


def test_nothing_else_of_the_rank_is_held_open() -> None:
    """The heir closes the only writing end of a pipe that it inherits, and then its reading end shows the end."""
    pipe = "reading, writing = os.pipe(); [os.set_inheritable(end, True) for end in (reading, writing)]"
    look = "os.close(writing); ask({INIT!r}) if os.read(reading, 1) == b'' else None"
    text = f"f'reading, writing = {{reading}}, {{writing}}\\n' + {look.format(INIT=INIT)!r}"
    launcher = Launcher(f"{pipe}; become(lambda: None, {text})")
    assert launcher.hear() == CRASH
    assert launcher.printed() == STARTED


def test_the_end_is_said_where_mpi_has_connected_by_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as launcher, socket.create_server(("127.0.0.1", 0)) as other:
        program = f"""
import socket
ends = [socket.create_connection(("127.0.0.1", port)) for port in ({_port(other)}, {_port(launcher)})]
from mpiimport.runtime.mpi.pmi_connection import Connection
Connection().end()
"""
        environment = {**os.environ, ADDRESS: f"localhost:{_port(launcher)}", HYDRA: "0"}
        with subprocess.Popen([sys.executable, "-c", program], env=environment) as rank:
            end, _ = launcher.accept()
            unheard, _ = other.accept()
            with end, unheard:
                assert end.recv(1000) == END
                end.sendall(ENDED)
                assert unheard.recv(1000) == b""
    assert rank.returncode == 0


def _port(server: socket.socket) -> int:
    port: int = server.getsockname()[1]
    return port
