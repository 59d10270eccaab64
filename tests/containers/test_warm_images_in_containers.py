"""Warm images in containers: ranks start from what a rank of the same image has made."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import settle
from tests.containers.cells import Cell, Site
from tests.containers.node import node_of
from tests.containers.test_kept_stores_in_containers import Tasks, tasks_of

SECONDS = 120
PROFILE = """
schema_version: 1
name: warm
description: a test
extends: mpich
container: {{per_node: {}}}
service: {{warm: true}}
"""
TEXT = """
import numpy, random
import os, sys
warm = os.readlink("/proc/self/exe").endswith("mpiimport-warm")
print("warm" if warm else "fresh", numpy.arange(4).sum(), sys.argv[1:], numpy.random.rand(), random.random())
"""


def ranks(tasks: Tasks, count: int, image: Path, *options: str, **variables: str) -> Outcome:
    runtime = tasks.site.prefix / "shim" / "apptainer"
    program = ["exec", "--mpiimport", *options, str(image), "python3", str(tasks.script), "a"]
    cell = Cell("shim", "sandbox", tasks.identity, "hybrid", "mpich")
    environment = tasks.site.environment(cell, tasks.mpi, MPIIMPORT_STORE=str(tasks.store), **variables)
    command = tasks.site.as_identity(tasks.identity, [*tasks.mpi.command(count), str(runtime), *program])
    return run(command, environment, SECONDS, tasks.script.parent)


@pytest.mark.parametrize(
    ("identity", "tree"),
    [
        ("root", "sandbox"),
        pytest.param("user", "sif", marks=pytest.mark.full),
        pytest.param("root", "sif", marks=pytest.mark.full),
        pytest.param("user", "sandbox", marks=pytest.mark.full),
    ],
)
def test_ranks_in_containers_of_their_own(site: Site, mpich: Mpi, identity: str, tree: str) -> None:
    image = site.image(tree)[1]
    with tasks_of(site, mpich, identity, "numpy") as tasks:
        tasks.script.write_text(TEXT)
        settle(tasks.script)
        begun = ranks(tasks, 1, image, MPIIMPORT_FILL="1", MPIIMPORT_WARM="1")
        assert (begun.status, begun.stdout) == (0, ""), begun
        assert "a snapshot of script" in begun.stderr
        outcome = ranks(tasks, 2, image, MPIIMPORT_WARM="1", MPIIMPORT_KEEP="session")
        lines = [line.split() for line in outcome.lines()]
        assert (outcome.status, outcome.ours()) == (0, []), outcome
        assert [line[:3] for line in lines] == [["warm", "6", "['a']"]] * 2
        assert len({line[3] for line in lines} | {line[4] for line in lines}) == 4
        asked = ranks(tasks, 2, image, MPIIMPORT_WARM="1", MPIIMPORT_KEEP="session", MPIIMPORT_VERBOSE="1")
        assert sum(line.startswith("mpiimport: 2 ranks: from a snapshot; ") for line in asked.ours()) == 1, asked


@pytest.mark.full
def test_an_image_of_another_container_is_not_used(site: Site, mpich: Mpi) -> None:
    with tasks_of(site, mpich, "root", "numpy") as tasks:
        tasks.script.write_text(TEXT)
        assert ranks(tasks, 1, site.image("sandbox")[1], MPIIMPORT_FILL="1", MPIIMPORT_WARM="1").status == 0
        outcome = ranks(tasks, 2, site.image("sif")[1], MPIIMPORT_WARM="1", MPIIMPORT_KEEP="session")
        assert [line.split()[0] for line in outcome.lines()] == ["fresh"] * 2, outcome
        assert "no warm image is used: none is kept for this program" in outcome.stderr


@pytest.mark.full
@pytest.mark.parametrize("per_node", ["true", "false"])
def test_a_profile_asks_for_images(site: Site, mpis: dict[str, Mpi], per_node: str) -> None:
    node = node_of(site, mpis, "sif", "user", "mpich")
    with tasks_of(site, mpis["mpich"], "user", "numpy") as tasks:
        profile = node.workspace / "warm.yaml"
        profile.write_text(PROFILE.format(per_node))
        shim, script = site.prefix / "shim" / "apptainer", node.script(TEXT)
        line = [shim, "exec", f"--mpiimport={profile}", site.image("sif")[1], "/usr/bin/python3", script, "a"]
        words = {"MPIIMPORT_STORE": str(tasks.store)}
        begun = node.run(*map(str, line), ranks=1, MPIIMPORT_FILL="1", **words)
        assert begun.status == 0 and "a snapshot of script" in begun.stderr, begun
        outcome = node.run(*map(str, line), ranks=2, MPIIMPORT_KEEP="session", **words)
        assert outcome.ours() == [], outcome
        assert [found.split()[:2] for found in outcome.lines()] == [["warm", "6"]] * 2
