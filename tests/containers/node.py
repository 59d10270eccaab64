"""Jobs with one container per node, and what they leave."""

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lab.processes import running
from lab.ranks import Mpi, Outcome
from tests.conftest import wait_for
from tests.containers.cells import Cell, Site

RANKS = 4
PROFILE = "schema_version: 1\nname: {name}\ndescription: a test\nextends: {mpi}\ncontainer: {{per_node: {per_node}}}\n"
PLACES = Path("/dev/shm")
# A keeper notices at once that the last rank has gone; the runtime takes its time to stop an instance.
PATIENCE = 40

# Says that it is there, and waits.
WAIT = "import os, time\nopen('ready' + os.environ['PMI_RANK'], 'w')\ntime.sleep(60)"

# Prints rank, size, the container's mount namespace, its name, and how many squashfuse serve it.
MEET = """
import glob, os
from mpi4py import MPI
world = MPI.COMM_WORLD
name = os.environ.get("APPTAINER_INSTANCE", "none")

def processes():
    for path in glob.glob("/proc/[0-9]*"):
        try:
            words = open(path + "/cmdline", errors="replace").read()
            parent = int(open(path + "/stat").read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        yield int(path[6:]), parent, words

found = list(processes())
masters = [pid for pid, _, words in found if f"[{name}]" in words and words.startswith("Apptainer")] + [os.getppid()]
mounts = sum("squashfuse" in words and parent in masters for _, parent, words in found)
world.Barrier()
print(world.rank, world.size, os.readlink("/proc/self/ns/mnt"), name, mounts, world.allreduce(1), flush=True)
"""


@dataclass(frozen=True)
class Node:
    """Jobs on this node by one identity, with one image and one MPI."""

    site: Site
    cell: Cell
    mpi: Mpi
    workspace: Path

    @property
    def uid(self) -> int:
        return pwd.getpwnam(self.site.user).pw_uid if self.cell.identity == "user" else 0

    def profile(self, per_node: bool = True) -> str:
        file = self.workspace / f"{'node' if per_node else 'rank'}.yaml"
        value = str(per_node).lower()
        file.write_text(PROFILE.format(name=file.stem, mpi=self.cell.mpi, per_node=value))
        return f"--mpiimport={file}"

    def script(self, text: str = MEET) -> Path:
        path = self.workspace / "app.py"
        path.write_text(text)
        return path

    def start(
        self, *command: str | Path, options: tuple[str, ...] = (), per_node: bool = True, image: str = ""
    ) -> list[str]:
        """One rank's command line."""
        where = image or str(self.site.image(self.cell.tree)[1])
        return [self.site.apptainer(), "exec", self.profile(per_node), *options, where, *map(str, command)]

    def run(self, *command: str, ranks: int = RANKS, **environment: str) -> Outcome:
        return self.launch([*self.mpi.command(ranks), *command], **environment)

    def launch(self, line: list[str], **environment: str) -> Outcome:
        return self.site.run(line, self.mpi, self.cell.identity, directory=self.workspace, **environment)

    @contextmanager
    def waiting_ranks(self) -> Iterator[None]:
        """Two ranks in the container, until they are killed or the test is over."""
        line = [*self.mpi.command(2), *self.start("/usr/bin/python3", self.script(WAIT))]
        job = subprocess.Popen(
            self.site.as_identity(self.cell.identity, line),
            env=self.environment(),
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_for(lambda: len(list(self.workspace.glob("ready*"))) == 2, 60)
            yield
        finally:
            self.kill(keeper=False)
            job.wait()

    def kill(self, keeper: bool) -> None:
        """Kill what the job has in its directory: launcher, shims, ranks; not the instance."""
        for pid, line in list(running(lambda place: place == self.workspace)):
            name = line.partition("\0")[0]
            if not name.startswith("appinit") and (keeper or not name.endswith("mpiimport-keeper")):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def environment(self, **changes: str) -> dict[str, str]:
        return self.site.environment(self.cell.identity, self.mpi, **changes)

    def left(self) -> list[str]:
        """What jobs with a container per node have left: places in memory, keepers, instances."""
        places = [str(path) for path in PLACES.glob(f"*mpiimport-container-{self.uid}-*")]
        listed = subprocess.run(["ps", "-U", str(self.uid), "-o", "args="], stdout=subprocess.PIPE, text=True).stdout
        return places + [line for line in listed.splitlines() if f"mpiimport-container-{self.uid}-" in line]

    def is_clean(self) -> bool:
        end = time.monotonic() + PATIENCE
        while self.left() and time.monotonic() < end:
            time.sleep(0.1)
        return self.left() == []


def node_of(site: Site, mpis: dict[str, Mpi], tree: str, identity: str, mpi: str) -> Node:
    return Node(site, Cell("shim", tree, identity, "hybrid", mpi), mpis[mpi], site.workspace(identity))
