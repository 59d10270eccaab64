"""Warm images in containers of podman and docker: those of one image start from what one of them has made."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import settle
from tests.containers.cells import Site
from tests.containers.doors import podman
from tests.containers.doors.entrypoint import PLAIN as DOCKER_IMAGE
from tests.containers.doors.entrypoint import make_docker_images
from tests.containers.keeping import Containers
from tests.containers.test_warm_images_in_containers import TEXT
from tests.warm.conftest import CONFINED

PYTHON_MPI = "/.mpiimport/bin/python-mpi"


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
    assert f"a snapshot of script {task} is kept" in begun.stderr
    check([containers.start("python3", task, "a") for _ in range(2)])
    assert containers.mpiimport("session", "stop").status == 0
    assert not containers.place.exists()


@pytest.fixture
def warm(site: Site, mpich: Mpi, _keeps: None) -> Iterator[WarmContainers]:
    made = WarmContainers(site, mpich)
    yield made
    made.mpiimport("session", "stop")


@pytest.mark.full
def test_ranks_in_a_container_start_warm(warm: WarmContainers) -> None:
    """A launcher inside starts the door, which no hook can put in front of its ranks."""
    ranks = ("/opt/mpich/bin/mpiexec", "-n", "2", PYTHON_MPI, warm.program(), "a")
    begun = warm.begin(*ranks)
    assert begun.status == 0 and "a snapshot of script" in begun.stderr, begun
    check([warm.start(*ranks)], 2)


@pytest.mark.full
def test_a_container_for_each_rank_starts_warm(warm: WarmContainers) -> None:
    task = warm.program()

    def line(count: int, **variables: str) -> list[str]:
        one = warm.line("python3", task, "a", image=podman.IMAGE, options=podman.JOINED, **variables)
        return [*podman.hybrid_mpiexec(warm.mpi, count), *one]

    begun = warm.mpiimport("session", "start", "--", *line(2, MPIIMPORT_FILL="1", MPIIMPORT_WARM="1"))
    assert begun.status == 0 and "a snapshot of script" in begun.stderr, begun
    check([warm.host(*line(2, MPIIMPORT_WARM="1"))], 2)


@pytest.mark.full
def test_a_container_that_has_changed_or_covers_its_image_starts_fresh(warm: WarmContainers) -> None:
    task = warm.program()
    assert warm.begin("python3", task, "a").status == 0
    changed = "this has changed since, or cannot be opened: "
    found = warm.run("python3", "-c", "import numpy.version; print(numpy.version.__file__)").stdout.strip()
    warm.fresh(changed, "sh", "-c", f"echo >> {found}; exec {PYTHON_MPI} --python python3 {task} a")
    other = Path(task).with_name("version.py")
    other.write_text((warm.site.images / "py" / found.lstrip("/")).read_text())
    warm.fresh(changed + found, "python3", task, "a", options=(f"--volume={other}:{found}",))
    check([warm.start("python3", task, "a")])


@pytest.mark.full
def test_of_a_container_that_has_changed_its_image_none_is_made(warm: WarmContainers) -> None:
    task = warm.program()
    found = warm.run("python3", "-c", "import numpy.version; print(numpy.version.__file__)").stdout.strip()
    begun = warm.begin("sh", "-c", f"echo >> {found}; sleep 3; exec {PYTHON_MPI} --python python3 {task} a")
    assert f"no warm image is kept: {found} has changed since this container was made" in begun.stderr, begun


@pytest.mark.full
def test_other_filters_of_system_calls_start_fresh(warm: WarmContainers) -> None:
    task = warm.program()
    assert warm.begin("python3", task, "a").status == 0
    confine = warm.program(CONFINED.read_text(), "confined.py")
    inside = f"exec python3 -S {confine} {PYTHON_MPI} --python python3 {task} a"
    warm.fresh("system calls are filtered otherwise", "sh", "-c", f"PYTHONPATH= MPIIMPORT=0 {inside}")
    for option in ("--security-opt=seccomp=unconfined", "--cap-drop=CHOWN"):
        warm.fresh("none is kept for this program", "python3", task, "a", options=(option,))
    check([warm.start("python3", task, "a")])


@pytest.mark.full
@pytest.mark.parametrize("identity", ["user", "root"])
@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_exec_starts_programs_warm(site: Site, mpich: Mpi, identity: str, engine: str) -> None:
    containers = WarmContainers(site, mpich, identity)
    task = Path(containers.program())
    variables = {"MPIIMPORT_KEEP": "auto", "MPIIMPORT_WARM": "1"}
    name = podman.IMAGE
    if engine == "docker":
        make_docker_images(site)
        name = DOCKER_IMAGE
        variables["DOCKER_HOST"] = site.docker.host
    command = [str(site.prefix / "bin" / "mpiimport"), "exec"]
    options = ["--network=none", f"--volume={task.parent}:{task.parent}"]
    program = [name, "python3", str(task), "a"]
    begun = containers.mpiimport("session", "start", "--warm", "--", *command, *options, *program, **variables)
    assert begun.status == 0 and "a snapshot of script" in begun.stderr, begun
    check([containers.host(*command, *options, *program, **variables) for _ in range(2)])
    other = containers.host(*command, *options, "--cap-drop=CHOWN", *program, **variables)
    assert other.stdout.split()[0] == "fresh", other
    assert ["none is kept for this program" in line for line in other.ours()] == [True], other
    prepare = [str(site.prefix / "bin" / "mpiimport"), "prepare", "--"]
    ordinary = {name: value for name, value in variables.items() if name == "DOCKER_HOST"}
    ordinary["MPIIMPORT_SNAPSHOTS"] = str(task.with_name("snapshots"))
    made = containers.host(*prepare, *command, *options, *program, **ordinary)
    assert made.status == 0 and made.stdout.startswith("made image: "), made
    check([containers.host(*command, *options, *program, **ordinary) for _ in range(2)])
    assert containers.mpiimport("session", "stop").status == 0
    assert not containers.place.exists()
