"""`mpiimport prepare -- mpiimport exec IMAGE ...`: containers of podman and docker start from the snapshot."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import settle
from tests.containers.cells import Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.entrypoint import PLAIN as DOCKER_IMAGE
from tests.containers.entry_points.entrypoint import make_docker_images
from tests.containers.podman_caches import Containers, containers_of
from tests.containers.prepared import TEXT
from tests.snapshots.conftest import CONFINED

PYTHON_MPI = "/.mpiimport/bin/python-mpi"


@dataclass(frozen=True)
class Programs:
    """Programs that ``mpiimport exec`` starts in containers of an engine's ``image``."""

    containers: Containers
    image: str
    variables: dict[str, str]

    def write(self, text: str = TEXT, name: str = "task.py") -> Path:
        path = self.containers.site.workspace(self.containers.identity) / name
        path.write_text(text)
        settle(path)
        return path

    def run(self, task: Path, *command: str, options: tuple[str, ...] = (), before: tuple[str, ...] = ()) -> Outcome:
        """Run a command that sees the directory of ``task``."""
        words = command or ("python3", str(task), "a")
        mpiimport = self.containers.site.tool
        line = ["exec", "--network=none", f"--volume={task.parent}:{task.parent}", *options, self.image, *words]
        library = {"MPIIMPORT_SNAPSHOTS": str(task.with_name("snapshots"))}
        prepare = [mpiimport, *before] if before else []
        return self.containers.host(*prepare, mpiimport, *line, **self.variables, **library)

    def prepare(self, task: Path, *command: str) -> Outcome:
        return self.run(task, *command, before=("prepare", "--"))

    def check(self, task: Path) -> None:
        """All start from the snapshot, and compute the same, but for random numbers."""
        outcomes = [self.run(task) for _ in range(2)]
        lines = [line.split() for outcome in outcomes for line in outcome.lines()]
        assert [(outcome.status, outcome.stderr) for outcome in outcomes] == [(0, "")] * 2, outcomes
        assert [line[:3] for line in lines] == [["restored", "6", "['a']"]] * 2, outcomes
        assert len({number for line in lines for number in line[3:]}) == 4

    def fresh(self, reason: str, task: Path, *command: str, options: tuple[str, ...] = ()) -> None:
        """Start a program that cannot start from the snapshot, for this reason, which is said in one line, or none."""
        outcome = self.run(task, *command, options=options)
        assert (outcome.status, outcome.stdout.split()[:1]) == (0, ["fresh"]), outcome
        assert [reason in line for line in outcome.ours()] == [True] * bool(reason), outcome


@contextmanager
def programs_of(site: Site, mpich: Mpi, engine: str, identity: str) -> Iterator[Programs]:
    with containers_of(site, mpich, identity) as containers:
        if engine == "podman":
            yield Programs(containers, podman.IMAGE, {})
        else:
            make_docker_images(site)
            yield Programs(containers, DOCKER_IMAGE, {"DOCKER_HOST": site.docker.host})


@pytest.mark.parametrize(
    ("engine", "identity"),
    [
        ("podman", "user"),
        *(pytest.param(*each, marks=pytest.mark.full) for each in [("podman", "root"), ("docker", "user")]),
        pytest.param("docker", "root", marks=pytest.mark.full),
    ],
)
def test_containers_start_from_what_one_has_prepared(site: Site, mpich: Mpi, engine: str, identity: str) -> None:
    with programs_of(site, mpich, engine, identity) as programs:
        task = programs.write()
        # podman copies the image for other user ids first.
        assert programs.run(task, "true").status == 0
        made = programs.prepare(task)
        assert made.status == 0 and made.stdout.startswith("made image: "), made
        programs.check(task)
        programs.fresh("", task, options=("--cap-drop=CHOWN",))
        # What runs there cannot change what its user starts outside.
        assert "Read-only file system" in programs.run(task, "touch", "/.mpiimport-snapshots/left").stderr


@pytest.mark.full
def test_a_container_that_has_changed_or_covers_its_image_starts_fresh(site: Site, mpich: Mpi) -> None:
    with programs_of(site, mpich, "podman", "root") as programs:
        task = programs.write()
        assert programs.prepare(task).status == 0
        changed = "this has changed since, or cannot be opened: "
        found = programs.run(
            task, "python3", "-c", "import numpy.version; print(numpy.version.__file__)"
        ).stdout.strip()
        programs.fresh(changed, task, "sh", "-c", f"echo >> {found}; exec {PYTHON_MPI} --python python3 {task} a")
        other = task.with_name("version.py")
        other.write_text((site.images / "py" / found.lstrip("/")).read_text())
        programs.fresh("", task, options=(f"--volume={other}:{found}",))
        programs.check(task)


@pytest.mark.full
def test_other_filters_of_system_calls_start_fresh(site: Site, mpich: Mpi) -> None:
    with programs_of(site, mpich, "podman", "root") as programs:
        task = programs.write()
        assert programs.prepare(task).status == 0
        confine = task.with_name("confined.py")
        confine.write_text(CONFINED.read_text())
        inside = f"exec python3 -S {confine} {PYTHON_MPI} --python python3 {task} a"
        programs.fresh("system calls are filtered otherwise", task, "sh", "-c", f"PYTHONPATH= MPIIMPORT=0 {inside}")
        programs.fresh("", task, options=("--security-opt=seccomp=unconfined",))
        programs.check(task)
