"""A simulated cluster: nodes that are namespaces of this machine, each with its own network, name, /dev/shm and /tmp.

All of it lives in a pid namespace of its own, and ends with that, whatever state it is in.
"""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType

from .filesystem import SharedFileSystem, provisioned
from .ranks import Mpi

SCRIPTS = Path(__file__).resolve().parent / "nodes"
LOGIN = "login"
ENTERED = ["--mount", "--net", "--uts", "--ipc"]


def _hydra(agent: str, nodes: list[str], ranks: int) -> list[str]:
    return ["-launcher", "ssh", "-launcher-exec", agent, "-hosts", ",".join(nodes), "-ppn", str(ranks)]


def _prrte(agent: str, nodes: list[str], ranks: int) -> list[str]:
    hosts = ",".join(f"{node}:{ranks}" for node in nodes)
    return ["--prtemca", "plm_ssh_agent", agent, "--host", hosts, "--map-by", f"ppr:{ranks}:node:oversubscribe"]


# How each MPI's launcher is told of the nodes, and how many ranks come on one before the next is filled.
PLACEMENT: dict[str, Callable[[str, list[str], int], list[str]]] = {"mpich": _hydra, "openmpi": _prrte}


class Cluster:
    """Nodes ``node0``, ``node1``, ..., and ``login``, from which jobs are launched, while the context lasts.

    ``home``: the one directory in which all nodes see, and may write, the same files, if it lies in /tmp; what is
    outside /tmp and /dev/shm they see anyway. ``shm``: size of a node's /dev/shm; ``rate``: of its link, as for tc,
    "1gbit"; empty for no limit. Needs root.
    """

    def __init__(self, nodes: int, home: Path | None = None, shm: str = "50%", rate: str = "") -> None:
        self.nodes = [f"node{number}" for number in range(nodes)]
        self._settings = [shm, rate]
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Cluster":
        provisioned()
        self._own = Path(tempfile.mkdtemp(prefix="lab-"))
        self.home = self._home or self._own
        self._run = Path(tempfile.mkdtemp(prefix=".cluster-", dir=self.home))
        shutil.copy(SCRIPTS / "rsh.sh", self._run / "rsh")
        words = [str(self.home), str(self._run), *self._settings, *self.nodes, LOGIN]
        self._process = subprocess.Popen(
            ["unshare", *ENTERED, "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
            + [str(SCRIPTS / "cluster.sh"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout
        if self._process.stdout.readline() != b"ready\n":
            self.__exit__(None, None, None)
            raise OSError("the simulated cluster could not be made; see the messages above")
        pid = self._process.pid
        self._init = Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()
        self._holders = {name: (self._run / name).read_text().strip() for name in (*self.nodes, LOGIN)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            with self._process:
                self._process.stdin.close()
        shutil.rmtree(self._run)
        shutil.rmtree(self._own)

    def on(self, node: str, command: Iterable[str | Path] = (), directory: Path | None = None) -> list[str]:
        """Return the words that run a command on a node, in ``directory`` or the home."""
        enter = ["nsenter", "--target", self._init, *ENTERED, "--pid", "--"]
        enter += ["nsenter", "--target", self._holders[node], *ENTERED, f"--wdns={directory or self.home}", "--"]
        return [*enter, *map(str, command)]

    def launch(
        self, mpi: Mpi, ranks: int, nodes: Sequence[str] | None = None, directory: Path | None = None
    ) -> list[str]:
        """Return the words in front of a program that launch so many ranks of it on each node, or each of ``nodes``."""
        names = list(self.nodes if nodes is None else nodes)
        mpiexec, *words = mpi.command(ranks * len(names))
        placed = PLACEMENT[mpi.name](str(self._run / "rsh"), names, ranks)
        return self.on(LOGIN, [mpiexec, *placed, *words], directory)

    def share(self, filesystem: SharedFileSystem, *directories: Path) -> None:
        """Show directories on every node, in their own places, as if they lay on ``filesystem``; not on ``login``."""
        for node in self.nodes:
            for directory in directories:
                filesystem.mount(node, directory, enter=self.on(node, directory=Path("/")))
