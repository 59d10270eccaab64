"""The entry as a container's first process does what Docker expects of one, and the command is as it is without."""

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import wait_for
from tests.containers.cells import Site
from tests.containers.entry_points.entrypoint import SERVED, make_docker_images

Start = Callable[..., Any]
# Says that it is there, then what it gets.
TRAPS = 'for s in TERM USR1 TSTP; do trap "echo $s; exit 7" $s; done; echo ready; while :; do sleep 0.05; done'


@pytest.fixture
def start(site: Site) -> Iterator[Start]:
    """Starts containers, which are removed afterwards."""
    make_docker_images(site)
    started = []

    def start(*command: str, **options: Any) -> Any:
        container = site.docker.client.containers.create(SERVED, list(command), network_mode="none", **options)
        started.append(container)
        container.start()
        return container

    yield start
    for container in started:
        container.remove(force=True)


def status(container: Any) -> int:
    code: int = container.wait(timeout=60)["StatusCode"]
    return code


def output(container: Any) -> list[str]:
    lines: list[str] = container.logs().decode().splitlines()
    return lines


def until(container: Any, line: str) -> None:
    wait_for(lambda: line in output(container), 60)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 37"], 37),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["python3", "-c", "import os; os.abort()"], 128 + signal.SIGABRT),
        (["/etc/passwd"], 126),
        (["no-such-command"], 127),
    ],
    ids=str,
)
def test_the_container_ends_as_the_command_ended(start: Start, command: list[str], expected: int) -> None:
    assert status(start(*command)) == expected


@pytest.mark.parametrize("name", ["TERM", "USR1", "TSTP"])
def test_a_signal_for_the_container_reaches_the_command(start: Start, name: str) -> None:
    container = start("sh", "-c", TRAPS)
    until(container, "ready")
    container.kill(name)
    assert status(container) == 7
    assert output(container) == ["ready", name]


def test_a_command_that_waits_for_no_signal_ends_by_one(start: Start) -> None:
    container = start("sh", "-c", "echo ready; exec sleep 60")
    until(container, "ready")
    container.kill("TERM")
    assert status(container) == 128 + signal.SIGTERM


def test_orphans_leave_no_zombies(start: Start) -> None:
    container = start("sh", "-c", "(sleep 0.1 & sleep 0.1 &) ; sleep 1; cat /proc/[0-9]*/stat | grep -c ' Z '; true")
    assert status(container) == 0
    assert output(container) == ["0"]


def test_no_second_process_where_docker_brings_an_init(start: Start) -> None:
    container = start("sh", "-c", "cat /proc/1/comm; echo $PPID", init=True)
    assert status(container) == 0
    assert output(container) == ["docker-init", "1"]


def test_the_process_that_is_named_as_the_rank_is_the_command(start: Start) -> None:
    container = start("sh", "-c", 'echo $_MPIIMPORT_PID = $$ "$PYTHONPATH"', environment={"PMI_RANK": "1"})
    assert status(container) == 0
    (line,) = output(container)
    named, _, own, path = line.split(" ")
    assert named == own != "1"
    assert path == "/.mpiimport/lib/mpiimport/pythonpath"


def test_the_command_reads_standard_input(start: Start, site: Site) -> None:
    container = site.docker.client.containers.create(SERVED, ["wc", "-c"], stdin_open=True, network_mode="none")
    try:
        stream = container.attach_socket(params={"stdin": 1, "stream": 1})
        container.start()
        stream._sock.sendall(b"12345")
        stream._sock.shutdown(socket.SHUT_WR)
        assert status(container) == 0
        assert output(container) == ["5"]
    finally:
        container.remove(force=True)


def test_a_terminal_interrupts_the_command_and_cannot_stop_it(start: Start) -> None:
    script = 'trap "echo interrupted; exit 5" INT; echo ready; while :; do sleep 0.05; done'
    container = start("sh", "-c", script, tty=True, stdin_open=True)
    stream = container.attach_socket(params={"stdin": 1, "stream": 1})
    until(container, "ready")
    stream._sock.sendall(b"\x1a")
    stream._sock.sendall(b"\x03")
    assert status(container) == 5
    assert output(container)[-1].endswith("interrupted")


def test_the_profile_that_the_container_names_is_applied(start: Start) -> None:
    command = ["sh", "-c", "echo $MPIR_CVAR_CH4_CMA_ENABLE $OMPI_MCA_btl_vader_single_copy_mechanism"]
    for profile, expected in {"mpich": "0", "openmpi": "none", "default": ""}.items():
        container = start(*command, environment={"MPIIMPORT_PROFILE": profile})
        assert status(container) == 0
        assert output(container) == [expected]
    unknown = start(*command, environment={"MPIIMPORT_PROFILE": "mpic"})
    assert status(unknown) == 2
    assert "did you mean mpich?" in output(unknown)[0]


def test_switched_off_the_command_gets_the_environment_it_would_have(start: Start) -> None:
    container = start("env", environment={"MPIIMPORT": "0", "MPIIMPORT_PROFILE": "mpic", "PMI_RANK": "0"})
    assert status(container) == 0
    assert {line.split("=")[0] for line in output(container)} == {
        *("PATH", "HOSTNAME", "HOME", "MPIIMPORT", "MPIIMPORT_PROFILE", "PMI_RANK")
    }


def test_job_control_of_a_shell_reaches_through_an_entry_that_stays(site: Site) -> None:
    """``--init`` under an interactive shell: ^Z stops both, fg continues both, ^C ends the command alone."""
    pid, terminal = os.forkpty()
    if pid == 0:
        os.execve("/bin/bash", ["bash", "--norc", "-i"], {"PS1": "> ", "PATH": "/usr/bin:/bin", "TERM": "dumb"})
    try:
        seen = b""

        def expect(text: bytes) -> None:
            nonlocal seen
            deadline = time.monotonic() + 30
            while text not in seen:
                readable, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
                assert readable, seen
                seen += os.read(terminal, 4096)
            seen = seen.partition(text)[2]

        # None of the words to expect stands in the line that the terminal echoes.
        # The shell only waits: ^Z between its vfork and the child's exec would stop a child that it cannot wait for.
        traps = 'trap "kill $!; echo inter""rupted; exit 5" INT; trap "echo conti""nued" CONT; echo re""ady'
        expect(b"> ")
        entry = f"{site.prefix}/bin/mpiimport-entry --init"
        os.write(terminal, f"{entry} sh -c 'sleep 60 & {traps}; while :; do wait; done'\n".encode())
        expect(b"ready")
        os.write(terminal, b"\x1a")
        expect(b"Stopped")
        os.write(terminal, b"fg\n")
        expect(b"continued")
        os.write(terminal, b"\x03")
        expect(b"interrupted")
        os.write(terminal, b"echo status $?\n")
        expect(b"status 5")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(pid, 0)
