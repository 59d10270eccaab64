"""`container: {per_node: true}`: the ranks of a node share one container, and after the last one it is gone."""

import copy
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.containers.cells import Site
from tests.containers.node import MEET, RANKS, Node, node_of


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
    outcome = node.run(*node.start("/usr/bin/python3", node.script()), MPIIMPORT="force")
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
    assert outcome.printed() == ["StoreSourceLoader"] * RANKS


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
    prefix = Path(shutil.copytree(site.prefix, workspace / "prefix", symlinks=True))
    record = prefix / "etc" / "launch.yaml"
    record.unlink()
    record.write_text(f"runtimes: {{{broken}: {{flavour: apptainer}}}}\n")
    other = copy.copy(site)
    other.prefix = prefix
    node = node_of(other, mpis, "sif", "user", "mpich")
    path = f"{workspace}:/usr/bin:/bin:/usr/sbin:/sbin"
    outcome = node.run(*node.start("/usr/bin/python3", node.script()), PATH=path, MPIIMPORT="force")
    said = fields(outcome)
    assert len({line[2] for line in said}) == RANKS
    assert {line[3] for line in said} == {"none"}
    assert [line.count("no room for instances") for line in outcome.ours()] == [1], outcome.stderr
    assert node.is_clean(), node.left()


@pytest.mark.parametrize(
    ("options", "reason"),
    [(("--containall",), "--containall"), (("--pid",), "--pid"), (("--net", "--network=none"), "--net")],
    ids=str,
)
def test_what_cannot_be_shared_is_not_and_says_so(node: Node, options: tuple[str, ...], reason: str) -> None:
    outcome = node.run(*node.start("printenv", "APPTAINER_NAME", options=options), ranks=2)
    assert (outcome.status, outcome.lines()) == (0, ["py.sif"] * 2), outcome.stderr
    assert [line.count(reason) for line in outcome.ours()] == [1], outcome.stderr


def test_a_rank_alone_on_its_node_starts_its_own_container(node: Node) -> None:
    said = fields(node.run(*node.start("/usr/bin/python3", node.script()), ranks=1))
    assert said[0][3] == "none"


def test_ranks_reach_each_other_with_a_private_tmp_and_shm(node: Node) -> None:
    """In containers of their own MPICH's ranks find nothing of each other in /dev/shm, and hang."""
    said = fields(node.run(*node.start("/usr/bin/python3", "-c", MEET, options=("--contain",))))
    assert [line[5] for line in said] == [str(RANKS)] * RANKS
