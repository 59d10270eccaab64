"""A simulated cluster: nodes that are namespaces of this machine, each with its own network, name, /dev/shm and /tmp.

All of it lives in a pid namespace of its own, and ends with that, whatever state it is in.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from .filesystem import SharedFileSystem
from .provisioning import provision
from .ranks import Mpi

SCRIPTS = Path(__file__).resolve().parent / "nodes"
LOGIN = "login"
# The namespaces of a node, and what the cluster as a whole has besides.
ENTERED = ["--mount", "--net", "--uts", "--ipc"]
CONTAINED = ["--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]


def _hydra(agent: str, nodes: list[str], ranks: int) -> list[str]:
    return ["-launcher", "ssh", "-launcher-exec", agent, "-hosts", ",".join(nodes), "-ppn", str(ranks)]


def _prrte(agent: str, nodes: list[str], ranks: int) -> list[str]:
    hosts = ",".join(f"{node}:{ranks}" for node in nodes)
    return ["--prtemca", "plm_ssh_agent", agent, "--host", hosts, "--map-by", f"ppr:{ranks}:node:oversubscribe"]


def _orte(agent: str, nodes: list[str], ranks: int) -> list[str]:
    hosts = ",".join(f"{node}:{ranks}" for node in nodes)
    return ["--mca", "plm_rsh_agent", agent, "--host", hosts, "--map-by", f"ppr:{ranks}:node"]


# How each MPI's launcher is told of the nodes, and how many ranks come on one before the next is filled.
PLACEMENT: dict[str, Callable[[str, list[str], int], list[str]]] = {
    "mpich": _hydra,
    "openmpi": _prrte,
    "oshmem": _orte,
}


@dataclass(frozen=True)
class ClusterMpi(Mpi):
    """An MPI whose launcher spreads ranks evenly over ``nodes``, neighbours in rank on the same one.

    ``agent``: what the launcher takes for ssh; ``enter``: words in front of it that run it on the login node.
    """

    nodes: list[str] = field(default_factory=list)
    agent: Path = Path()
    enter: list[str] = field(default_factory=list)

    def command(self, ranks: int) -> list[str]:
        each, rest = divmod(ranks, len(self.nodes))
        if rest:
            raise ValueError(f"{ranks} ranks cannot be spread evenly over {len(self.nodes)} nodes")
        mpiexec, *words = super().command(ranks)
        return [*self.enter, mpiexec, *PLACEMENT[self.name](str(self.agent), self.nodes, each), *words]


class Cluster:
    """Nodes ``node0``, ``node1``, ..., and ``login``, from which jobs are launched, while the context lasts.

    ``home``: the one directory in /tmp, beside that of these sources, in which all nodes see, and may write, the same
    files; what is outside /tmp and /dev/shm they see anyway. ``shm``: size of a node's /dev/shm; ``rate``: of its link,
    as for tc, "1gbit"; empty for no limit. Needs root. ``tools``: the directory that holds ``rsh``, what launchers take
    for ssh.
    """

    def __init__(self, nodes: int, home: Path | None = None, shm: str = "50%", rate: str = "") -> None:
        self.nodes = [f"node{number}" for number in range(nodes)]
        self._settings = [shm, rate]
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Cluster":
        provision("lab.sh")
        self.home = self._home or Path(tempfile.mkdtemp(prefix="lab-"))
        self.tools = Path(tempfile.mkdtemp(prefix=".cluster-", dir=self.home))
        shutil.copy(SCRIPTS / "rsh.sh", self.tools / "rsh")
        words = [str(self.home), str(self.tools), *self._settings, *self.nodes, LOGIN]
        self._process = subprocess.Popen(
            ["unshare", *ENTERED, *CONTAINED, str(SCRIPTS / "cluster.sh"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout
        if self._process.stdout.readline() != b"ready\n":
            self.__exit__(None, None, None)
            raise OSError("the simulated cluster could not be made; see the messages above")
        pid = self._process.pid
        self._init = Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()
        self._holders = {name: (self.tools / name).read_text().strip() for name in (*self.nodes, LOGIN)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            # Its stdin is closed, by which it ends, and its end is waited for.
            self._process.communicate()
        shutil.rmtree(self.tools if self._home else self.home)

    def on(self, node: str, command: Iterable[str | Path] = (), directory: Path | None = None) -> list[str]:
        """Return the words that run a command on a node, in ``directory`` or the home."""
        enter = ["nsenter", "--target", self._init, *ENTERED, "--pid", "--"]
        enter += ["nsenter", "--target", self._holders[node], *ENTERED, f"--wdns={directory or self.home}", "--"]
        return [*enter, *map(str, command)]

    def mpi(self, mpi: Mpi, nodes: int | None = None, directory: Path | None = None) -> "ClusterMpi":
        """Return ``mpi`` as launched from the login node, in ``directory`` or the home, on the first ``nodes``."""
        names = self.nodes if nodes is None else self.nodes[:nodes]
        agent = self.tools / "rsh"
        enter = self.on(LOGIN, directory=directory)
        own = (mpi.name, mpi.prefix, mpi.library, mpi.options, mpi.environment)
        return ClusterMpi(*own, names, agent, enter, launcher=mpi.launcher)

    def share(self, filesystem: SharedFileSystem, *directories: Path) -> None:
        """Show directories on every node, in their own places, as if they lay on ``filesystem``; not on ``login``."""
        for node in self.nodes:
            for directory in directories:
                filesystem.mount(node, directory, enter=self.on(node, directory=Path("/")))


@contextmanager
def seen_as_on_nodes(home: Path, *directories: Path) -> Iterator[tuple[str, ...]]:
    """Yield words in front of a command that sees directories as if they lay on a shared file system.

    What the command writes elsewhere stays. ``home``: as for Cluster.
    """
    with SharedFileSystem(writable=True) as shared, Cluster(1, home) as cluster:
        cluster.share(shared, *directories)
        yield tuple(cluster.on("node0"))


def python_tree() -> dict[str, Path]:
    """Return the directories that this Python imports from, by what they are: those that a site would share.

    Of a machine's own Python it is the standard library alone, for /usr holds the machine.
    """
    base = Path(sys.base_prefix)
    return {"tree": Path(sys.prefix), "interpreter": Path(os.__file__).parent if base == Path("/usr") else base}
