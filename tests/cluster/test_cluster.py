"""The simulated cluster's nodes are apart from each other and from this machine, MPI runs on them, and they end."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cluster import Cluster
from lab.ranks import Mpi, clean_environment, run
from tests.conftest import ROOT, Job, wait_for

# Prints what a node's ranks see of it.
PROGRAM = """
import os, socket
from mpi4py import MPI
world = MPI.COMM_WORLD
node = world.Split_type(MPI.COMM_TYPE_SHARED)
own = f"/dev/shm/{world.bcast(os.getpid())}"
if node.rank == 0:
    open(own, "x").close()
world.Barrier()
seen = os.listdir("/dev/shm").count(os.path.basename(own))
world.Barrier()
if node.rank == 0:
    os.unlink(own)
print(world.rank, socket.gethostname(), node.rank, node.size, seen, os.getcwd())
"""


def said(words: list[str]) -> str:
    outcome = run(words, clean_environment(), seconds=30)
    assert outcome.status == 0, outcome.stderr
    return outcome.stdout.strip()


def test_nodes_have_their_own_name_network_and_memory(cluster: Cluster, tmp_path: Path) -> None:
    for number, node in enumerate(cluster.nodes):
        assert said(cluster.on(node, ["hostname"])) == node
        assert f"10.77.0.{number + 1}/16" in said(cluster.on(node, ["ip", "-o", "-4", "address", "show", "eth0"]))
        assert said(cluster.on(node, ["ls", "/sys/class/net"])).split() == ["eth0", "lo"]
        for directory in ("/dev/shm", "/tmp"):
            said(cluster.on(node, ["mkdir", f"{directory}/lab-test"]))
            said(cluster.on(node, ["rmdir", f"{directory}/lab-test"]))
    said(cluster.on("node0", ["touch", "/dev/shm/lab-test", "/tmp/lab-test"]))
    for node in ("node1", "login"):
        assert "lab-test" not in said(cluster.on(node, ["ls", "/dev/shm", "/tmp"]))
    assert not any(Path(directory, "lab-test").exists() for directory in ("/dev/shm", "/tmp"))
    assert {"switch", "login", *cluster.nodes}.isdisjoint(path.name for path in Path("/sys/class/net").iterdir())
    assert os.uname().nodename not in {"login", *cluster.nodes}
    assert str(cluster.tools) not in Path("/proc/self/mounts").read_text()
    # The home is one for all.
    said(cluster.on("node0", ["touch", tmp_path / "file"]))
    assert said(cluster.on("node1", ["ls", tmp_path])) == "file"
    assert (tmp_path / "file").exists()


def test_nodes_know_each_other_without_asking(cluster: Cluster) -> None:
    """Of the kernel's room for neighbours, which all nodes share, 32 nodes would take all."""
    known = said(cluster.on("node0", ["ip", "neighbour", "show", "nud", "permanent"]))
    assert len([line for line in known.splitlines() if line.startswith("10.77.")]) >= len(cluster.nodes)


def test_nodes_reach_each_other_by_name(cluster: Cluster) -> None:
    server = "import socket; s = socket.create_server(('', 7777)); print(s.accept()[0].recv(9).decode())"
    client = (
        "import socket, time\nwhile True:\n try: s = socket.create_connection(('node1', 7777)); break\n"
        " except ConnectionRefusedError: time.sleep(0.05)\ns.send(b'message')"
    )
    with subprocess.Popen(cluster.on("node1", [sys.executable, "-c", server]), stdout=subprocess.PIPE) as listening:
        said(cluster.on("node0", [sys.executable, "-c", client]))
        output, _ = listening.communicate(timeout=30)
    assert output == b"message\n"


def test_each_node_is_a_node_to_mpi(cluster: Cluster, job: Job, mpi: Mpi) -> None:
    spread = cluster.mpi(mpi, directory=job.directory)
    outcome = job.run(spread, 8, job.script(PROGRAM), entry_point="plain")
    assert (outcome.status, outcome.lines()) == (
        0,
        [f"{rank} node{rank // 2} {rank % 2} 2 1 {job.directory}" for rank in range(8)],
    ), outcome.stderr


def test_ranks_that_cannot_be_spread_evenly_are_refused(cluster: Cluster, mpich: Mpi) -> None:
    with pytest.raises(ValueError, match="7 ranks"):
        cluster.mpi(mpich).command(7)


def test_the_remote_shell_takes_a_line_and_options_as_ssh_does(cluster: Cluster) -> None:
    agent = cluster.tools / "rsh"
    line = ["-x", "-l", "user", "-p", "22", "node2", "hostname;", "echo", "'a  b'", "$((1 + 1))"]
    assert said(cluster.on("login", [agent, *line])).split("\n") == ["node2", "a  b 2"]
    assert said(cluster.on("node1", [agent, "node3", "hostname"])) == "node3"
    outcome = run(cluster.on("login", [agent, "node9", "hostname"]), clean_environment())
    assert outcome.status == 255 and "node9" in outcome.stderr
    assert run(cluster.on("login", [agent, "node1", "exit 7"]), clean_environment()).status == 7


def test_a_rate_limits_links_in_both_directions(lab: None) -> None:
    with Cluster(1, rate="100mbit") as cluster:
        for words in (
            cluster.on("node0", ["tc", "qdisc"]),
            cluster.on("node0", ["nsenter", "--target", "1", "--net", "tc", "qdisc"]),
        ):
            assert "tbf" in said(words) and "rate 100Mbit" in said(words)


def test_everything_on_a_cluster_ends_with_it(lab: None) -> None:
    with Cluster(1) as cluster:
        mark = f"{os.getpid()}.25"
        said(cluster.on("node0", ["sh", "-c", f"setsid sleep 1000{mark} >&- 2>&- &"]))
        wait_for(lambda: running(mark))
        home = cluster.home
        assert home.exists()
    assert not running(mark)
    assert not home.exists()


def test_a_node_that_cannot_be_made_is_an_error(lab: None, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="could not be made"), Cluster(2, rate="1parsec"):
        pass
    assert "parsec" in capfd.readouterr().err


def test_a_cluster_ends_with_the_process_that_made_it(lab: None) -> None:
    mark = f"{os.getpid()}.75"
    program = (
        "import os, subprocess; from lab.cluster import Cluster; cluster = Cluster(1).__enter__();"
        f"subprocess.run(cluster.on('node0', ['sh', '-c', 'setsid sleep 1000{mark} >&- 2>&- &']));"
        "print(cluster.home, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL
    shutil.rmtree(done.stdout.strip())
    wait_for(lambda: not running(mark), 20)


def running(mark: str) -> bool:
    """Tell whether a process with the mark on its command line runs anywhere on this machine."""
    found = subprocess.run(["pgrep", "--full", f"^sleep 1000{mark}"], stdout=subprocess.DEVNULL)
    return found.returncode == 0
