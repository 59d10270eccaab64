"""`container: {per_node: true}`: the ranks of a node share one container, and after the last one it is gone."""

import copy
import os
import pty
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.containers.cells import Cell, Site
from tests.lab.ranks import Mpi, Outcome, run

PROFILE = "schema_version: 1\nname: {name}\ndescription: a test\nextends: {mpi}\ncontainer: {{per_node: {per_node}}}\n"
PLACES = Path("/dev/shm")
RANKS = 4
# A keeper notices at once that the last rank has gone; the runtime takes its time to stop an instance.
PATIENCE = 40
# Unlike runuser it stays what the terminal controls.
AS_USER = "setpriv --reuid={0} --regid={0} --init-groups"

# Prints rank, size, the container's mount namespace, its name, and how many squashfuse serve it.
MEET = """
import glob, os
from mpi4py import MPI
world = MPI.COMM_WORLD
name = os.environ.get("APPTAINER_INSTANCE", "none")

def processes():
    for path in glob.glob("/proc/[0-9]*"):
        try:
            words = open(path + "/cmdline").read()
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
        shim = str(self.site.prefix / "shim" / "apptainer")
        where = image or str(self.site.image(self.cell.tree)[1])
        return [shim, "exec", self.profile(per_node), *options, where, *map(str, command)]

    def run(self, *command: str, ranks: int = RANKS, **environment: str) -> Outcome:
        return self.launch([*self.mpi.command(ranks), *command], **environment)

    def launch(self, line: list[str], **environment: str) -> Outcome:
        return run(
            self.site.as_identity(self.cell.identity, line), self.environment(**environment), 120, self.workspace
        )

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
            end = time.monotonic() + 60
            while len(list(self.workspace.glob("ready*"))) < 2:
                assert time.monotonic() < end and job.poll() is None, "the ranks did not start"
                time.sleep(0.05)
            yield
        finally:
            self.kill(keeper=False)
            job.wait()

    def kill(self, keeper: bool) -> None:
        """Kill what the job has in its directory: launcher, shims, ranks; not the instance."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                name = process.joinpath("cmdline").read_text().partition("\0")[0]
                spared = name.startswith("appinit") or (name.endswith("mpiimport-keeper") and not keeper)
                if not spared and process.joinpath("cwd").readlink() == self.workspace:
                    found.append(int(process.name))
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def environment(self, **changes: str) -> dict[str, str]:
        return self.site.environment(self.cell, self.mpi, **changes)

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


@pytest.fixture
def node(site: Site, mpis: dict[str, Mpi]) -> Iterator[Node]:
    """What most users have: an image file, no privileges."""
    made = node_of(site, mpis, "sif", "user", "mpich")
    yield made
    assert made.is_clean(), made.left()


def fields(outcome: Outcome) -> list[list[str]]:
    assert outcome.status == 0, outcome.stderr
    return [line.split() for line in outcome.lines()]


CELLS = [
    pytest.param(tree, identity, mpi, marks=() if representative else pytest.mark.full)
    for tree, identity, mpi, representative in (
        ("sif", "user", "mpich", True),
        ("sandbox", "root", "openmpi", True),
        ("sandbox", "user", "openmpi", False),
        ("sif", "root", "mpich", False),
        ("sif", "user", "openmpi", False),
        ("sandbox", "root", "mpich", False),
    )
]


@pytest.mark.parametrize(("tree", "identity", "mpi"), CELLS)
def test_the_ranks_of_a_node_share_one_container(
    site: Site, mpis: dict[str, Mpi], tree: str, identity: str, mpi: str
) -> None:
    node = node_of(site, mpis, tree, identity, mpi)
    outcome = node.run(*node.start("/usr/bin/python3", node.script()))
    said = fields(outcome)
    assert [line[:2] for line in said] == [[str(rank), str(RANKS)] for rank in range(RANKS)]
    assert len({(namespace, name) for _, _, namespace, name, *_ in said}) == 1, said
    assert said[0][3].startswith(f"mpiimport-container-{node.uid}-")
    mounted_by_squashfuse = tree == "sif" and identity == "user"
    assert {line[4] for line in said} == {"1" if mounted_by_squashfuse else "0"}
    assert outcome.ours() == []
    assert node.is_clean(), node.left()


def test_imports_are_served_in_it(node: Node) -> None:
    script = node.script("import numpy; from mpi4py import MPI; print(type(numpy.__loader__).__name__)")
    outcome = node.run(*node.start("/usr/bin/python3", script), MPIIMPORT="force")
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == ["StoreSourceLoader"] * RANKS, outcome.stderr
    assert outcome.ours() == []


def test_nothing_is_kept_in_the_home_directory_that_nodes_share(node: Node) -> None:
    home = node.workspace / "home"
    home.mkdir()
    shutil.chown(home, node.site.user)
    said = fields(node.run(*node.start("/usr/bin/python3", node.script(), options=(f"--home={home}",)), HOME=str(home)))
    assert said[0][3].startswith("mpiimport-container-")
    assert not list(home.rglob("*instance*"))


def test_a_killed_rank_ends_the_container(node: Node) -> None:
    script = node.script("import os, time\nif os.environ['PMI_RANK'] == '1': os.kill(os.getpid(), 9)\ntime.sleep(60)")
    assert node.run(*node.start("/usr/bin/python3", script)).status != 0
    assert node.is_clean(), node.left()


WAIT = "import os, time\nopen('ready' + os.environ['PMI_RANK'], 'w')\ntime.sleep(60)"


def test_a_killed_job_ends_the_container(node: Node) -> None:
    """Launcher and ranks end by SIGKILL at the same moment; only locks are left to tell."""
    with node.waiting_ranks():
        assert node.left() != []
        node.kill(keeper=False)
    assert node.is_clean(), node.left()


def test_the_next_job_removes_what_a_killed_keeper_has_left(node: Node) -> None:
    with node.waiting_ranks():
        node.kill(keeper=True)
    assert any("instance" in entry for entry in node.left()), node.left()
    fields(node.run(*node.start("/usr/bin/python3", node.script())))
    assert node.is_clean(), node.left()


def test_two_jobs_on_a_node_have_a_container_each(node: Node) -> None:
    script = node.script(MEET + "import time; time.sleep(world.size)")
    lines = [[*node.mpi.command(ranks), *node.start("/usr/bin/python3", script)] for ranks in (2, 3)]
    jobs = [
        subprocess.Popen(
            node.site.as_identity("user", line),
            env=node.environment(),
            cwd=node.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        for line in lines
    ]
    texts = [job.communicate(timeout=120)[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0]
    names = [{line.split()[3] for line in text.splitlines()} for text in texts]
    assert [len(found) for found in names] == [1, 1]
    assert names[0] != names[1]


def test_other_images_and_binds_in_a_job_get_containers_of_their_own(node: Node) -> None:
    """MPI reaches across them, as it does across containers of single ranks."""
    script = node.script()
    other = str(node.site.images / "py")
    line = [*node.mpi.command(2), *node.start("/usr/bin/python3", script)]
    line += [":", "-n", "2", *node.start("/usr/bin/python3", script, options=("--bind=/usr/share:/mnt",))]
    line += [":", "-n", "1", *node.start("/usr/bin/python3", script, image=other)]
    said = fields(node.launch(line))
    assert [line[1] for line in said] == ["5"] * 5
    names = [line[3] for line in said]
    assert names[0] == names[1] and names[2] == names[3] and len(set(names)) == 3, names


def test_commands_of_a_rank_after_one_another_enter_the_same_container(node: Node) -> None:
    first, second = node.start("printenv", "APPTAINER_INSTANCE"), node.start("/usr/bin/python3", node.script())
    said = node.run("sh", "-c", f"{' '.join(first)}; sleep $PMI_RANK; {' '.join(second)}", ranks=2)
    assert said.status == 0, said.stderr
    names = {line.split()[-3] if " " in line else line for line in said.lines()}
    assert len(names) == 1, said.stdout


FAILING = """#!/bin/sh
case "$*" in *"instance start"*) echo "FATAL:   {reason}" >&2; exit 255;; esac
exec {real} "$@"
"""


def test_a_failing_start_leaves_each_rank_its_own_container(site: Site, mpis: dict[str, Mpi]) -> None:
    workspace = site.workspace("user")
    broken = workspace / "apptainer"
    broken.write_text(FAILING.format(reason="no room for instances", real=site.runtime))
    broken.chmod(0o755)
    prefix = Path(shutil.copytree(site.prefix, workspace / "prefix", symlinks=True, copy_function=os.link))
    record = prefix / "etc" / "launch.yaml"
    record.unlink()
    record.write_text(f"runtimes: {{apptainer: {{path: {broken}, flavour: apptainer}}}}\n")
    other = copy.copy(site)
    other.prefix = prefix
    node = node_of(other, mpis, "sif", "user", "mpich")
    outcome = node.run(*node.start("/usr/bin/python3", node.script()))
    said = fields(outcome)
    assert len({line[2] for line in said}) == RANKS
    assert {line[3] for line in said} == {"none"}
    (only,) = outcome.ours()
    assert "no room for instances" in only
    assert node.is_clean(), node.left()


@pytest.mark.parametrize(
    ("options", "reason"),
    [(("--containall",), "--containall"), (("--pid",), "--pid"), (("--net", "--network=none"), "--net")],
    ids=str,
)
def test_what_cannot_be_shared_is_not_and_says_so(node: Node, options: tuple[str, ...], reason: str) -> None:
    outcome = node.run(*node.start("printenv", "APPTAINER_NAME", options=options), ranks=2)
    assert outcome.status == 0, outcome.stderr
    assert outcome.lines() == ["py.sif"] * 2
    (only,) = outcome.ours()
    assert reason in only


def test_a_rank_alone_on_its_node_starts_its_own_container(node: Node) -> None:
    said = fields(node.run(*node.start("/usr/bin/python3", node.script()), ranks=1))
    assert said[0][3] == "none"


# What entering a container changes in the environment: the runtime says so by these.
OF_INSTANCES = {"APPTAINER_INSTANCE", "SINGULARITY_INSTANCE", "APPTAINER_BIND", "SINGULARITY_BIND"}
OF_JOBS = {"MPIIMPORT_PROFILE", "MPIIMPORT_APPLIED", "MPIIMPORT_PID"}
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


def test_ranks_reach_each_other_with_a_private_tmp_and_shm(node: Node) -> None:
    """In containers of their own MPICH's ranks find nothing of each other in /dev/shm, and hang."""
    said = fields(node.run(*node.start("/usr/bin/python3", "-c", MEET, options=("--contain",))))
    assert [line[5] for line in said] == [str(RANKS)] * RANKS


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
    rank = {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2", "APPTAINERENV_MPIIMPORT": "0"}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(node.workspace)
        os.execvpe("setpriv", [*AS_USER.format(node.uid).split(), *command], node.environment(**rank))
    said = b""
    while b"terminal" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    while b"typed" not in said:
        said += os.read(terminal, 1000)
    assert b"terminal True True" in said
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    os.close(terminal)
