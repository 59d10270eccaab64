"""Warm images in containers of podman and docker: those of one image start from what one of them has made."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import settle, wait_for
from tests.containers.cells import Site
from tests.containers.doors import podman
from tests.containers.doors.entrypoint import PLAIN as DOCKER_IMAGE
from tests.containers.doors.entrypoint import make_docker_images
from tests.containers.keeping import Containers
from tests.containers.test_warm_images_in_containers import TEXT

PYTHON_MPI = "/.mpiimport/bin/python-mpi"
PACKAGES = "/usr/lib/python3/dist-packages"


class WarmContainers(Containers):
    """Containers whose programs want images."""

    def program(self, text: str = TEXT, name: str = "task.py") -> str:
        path = self.site.workspace(self.identity) / name
        path.write_text(text)
        settle(path)
        return str(path)

    def begin(self, *command: str, options: tuple[str, ...] = (), image: str = podman.IMAGE) -> Outcome:
        line = self.line(*command, image=image, options=options, MPIIMPORT_FILL="1", MPIIMPORT_WARM="1")
        return self.mpiimport("session", "start", "--warm", "--", *line)

    def start(self, *command: str, options: tuple[str, ...] = (), image: str = podman.IMAGE) -> Outcome:
        return self.run(*command, image=image, options=options, MPIIMPORT_WARM="1")

    def fresh(self, reason: str, *command: str, options: tuple[str, ...] = (), image: str = podman.IMAGE) -> None:
        """Start a program that cannot start from an image, for this reason, which is said in one line."""
        outcome = self.start(*command, options=options, image=image)
        assert (outcome.status, outcome.stdout.split()[:1]) == (0, ["fresh"]), outcome
        assert [reason in line for line in outcome.ours()] == [True], outcome


def check(outcomes: list[Outcome], ranks: int = 1) -> None:
    """All are warm, and have computed the same, but for random numbers."""
    lines = [line.split() for outcome in outcomes for line in outcome.lines()]
    assert [(outcome.status, outcome.stderr) for outcome in outcomes] == [(0, "")] * len(outcomes), outcomes
    assert [line[:3] for line in lines] == [["warm", "6", "['a']"]] * (ranks * len(outcomes)), outcomes
    assert len({number for line in lines for number in line[3:]}) == 2 * ranks * len(outcomes)


@pytest.mark.usefixtures("_keeps")
@pytest.mark.parametrize(
    ("identity", "runtime", "options"),
    [
        ("user", "crun", ()),
        pytest.param("root", "runc", (), marks=pytest.mark.full),
        pytest.param("user", "runc", ("--userns=keep-id",), marks=pytest.mark.full),
        pytest.param("root", "crun", ("--ipc=host", "--pid=host"), marks=pytest.mark.full),
        pytest.param("root", "runc", ("--init",), marks=pytest.mark.full),
        pytest.param("root", "runc", ("--security-opt=seccomp=unconfined",), marks=pytest.mark.full),
    ],
)
def test_containers_start_from_what_a_session_has_made(
    site: Site, mpich: Mpi, identity: str, runtime: str, options: tuple[str, ...]
) -> None:
    containers = WarmContainers(site, mpich, identity, runtime, options)
    task = containers.program()
    if options:
        # podman copies the image for other user ids first.
        assert containers.run("true").status == 0
    begun = containers.begin("python3", task, "a")
    assert (begun.status, begun.stdout) == (0, ""), begun
    assert f"a warm image of script {task} is kept" in begun.stderr
    check([containers.start("python3", task, "a") for _ in range(2)])
    assert containers.mpiimport("session", "stop").status == 0
    assert not containers.place.exists()
