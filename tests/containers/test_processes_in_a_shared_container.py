"""A process in the container that the ranks of a node share is like one in a container of its own."""

import os
import pty
import subprocess

import pytest

from tests.containers.node import Node

# Unlike runuser it stays what the terminal controls.
AS_USER = "setpriv --reuid={0} --regid={0} --init-groups"

# What entering a container changes in the environment: the runtime says so by these.
OF_INSTANCES = {"APPTAINER_INSTANCE", "SINGULARITY_INSTANCE", "APPTAINER_BIND", "SINGULARITY_BIND"}
OF_JOBS = {"MPIIMPORT_PROFILE", "_MPIIMPORT_APPLIED", "_MPIIMPORT_PID"}
SHOW = """
[ "$OWN" = 0 ] && cat
pwd; umask; ulimit -n; id; taskset -c -p $$ | sed s/.*://; grep -E "NoNewPrivs|CapEff|Seccomp:" /proc/self/status
echo; exec env -0
"""
SET_UP = 'umask 027; ulimit -n 500; export APPTAINERENV_OWN=$PMI_RANK; exec "$@" > out$PMI_RANK'


@pytest.mark.parametrize(
    "options", [(), ("--cleanenv",), ("--env=A=b", "--pwd=/usr"), ("--contain", "--no-home")], ids=str
)
def test_a_process_in_it_is_like_one_in_a_container_of_its_own(node: Node, options: tuple[str, ...]) -> None:
    states, variables = [], []
    for per_node in (False, True):
        each = node.start("bash", "-c", SHOW, options=options, per_node=per_node)
        line = [*node.mpi.command(2), "taskset", "-c", "0", "bash", "-c", SET_UP, "-", *each]
        subprocess.run(
            node.site.as_identity("user", line),
            env=node.environment(),
            cwd=node.workspace,
            input="hello",
            text=True,
            timeout=120,
            check=True,
        )
        texts = [(node.workspace / f"out{rank}").read_text().rpartition("\n") for rank in (0, 1)]
        states.append([state for state, _, _ in texts])
        variables.append([dict(entry.split("=", 1) for entry in text.split("\0")[:-1]) for *_, text in texts])
    assert states[0] == states[1]
    assert "hello" in states[1][0]
    for rank, (before, after) in enumerate(zip(*variables, strict=True)):
        different = {name for name in before | after if before.get(name) != after.get(name)}
        assert different - OF_INSTANCES - OF_JOBS == set(), (before, after)
        assert after["OWN"] == str(rank)


@pytest.mark.parametrize("command", ["exit 7", "kill -TERM $$"])
def test_how_a_process_ends_is_told(node: Node, command: str) -> None:
    statuses = []
    for per_node in (False, True):
        each = node.start("sh", "-c", command, per_node=per_node)
        statuses.append(node.run("sh", "-c", '"$@"; echo $?', "-", *each, ranks=2).lines())
    assert statuses[0] == statuses[1]
    assert statuses[1][0] != "0"


@pytest.mark.parametrize("name", ["TERM", "INT", "USR2"])
def test_a_signal_to_a_rank_reaches_its_program(node: Node, name: str) -> None:
    script = node.script(
        f"import signal, sys, time\nsignal.signal(signal.SIG{name}, lambda *_: sys.exit(9))\n"
        "print('on', flush=True)\ntime.sleep(20)"
    )
    send = f'mkfifo p$0$PMI_RANK; "$@" > p$0$PMI_RANK & read word < p$0$PMI_RANK; kill -{name} $!; wait $!; echo $?'
    statuses = []
    for per_node in (False, True):
        each = node.start("/usr/bin/python3", script, per_node=per_node)
        statuses.append(node.run("bash", "-c", send, str(per_node), *each, ranks=2).lines())
    assert statuses[0] == statuses[1]


TYPED = """
import os, sys, time
try:
    print("terminal", os.isatty(0), os.tcgetpgrp(0) == os.getpgrp(), flush=True)
    time.sleep(30)
except KeyboardInterrupt:
    sys.exit("typed")
"""


def test_the_keyboard_interrupts_the_program(node: Node) -> None:
    command = node.start("/usr/bin/python3", "-u", "-c", TYPED)
    rank = {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(node.workspace)
        os.execvpe("setpriv", [*AS_USER.format(node.uid).split(), *command], node.environment(**rank))
    said = b""
    while b"\n" not in said.partition(b"terminal")[2]:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while b"typed" not in said:
        said += os.read(terminal, 1000)
    assert b"terminal True True" in said
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    os.close(terminal)
