"""Acceleration beside the runtime's own options: each starts what it starts without us, served where it can be."""

import itertools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import provision, write_profile
from tests.containers.cells import Site

SECONDS = 90
PROGRAM = """
import numpy
from mpi4py import MPI
print("ran", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, type(numpy.__loader__).__name__, flush=True)
"""
SERVED, PLAIN = "StoreSourceLoader", "SourceFileLoader"


class Place:
    """Two ranks of a short program, started through the shim: in a container each, or contained, all in one."""

    def __init__(self, site: Site, mpi: Mpi, workspace: Path) -> None:
        self.site, self.mpi, self.workspace = site, mpi, workspace
        self.script = workspace / "app.py"
        self.script.write_text(PROGRAM)

    def start(
        self,
        *options: str,
        image: Path | None = None,
        words: list[str] | None = None,
        identity: str = "root",
        accelerated: bool = True,
        contained: bool = False,
        wrapper: tuple[str, ...] = (),
        **changes: str,
    ) -> Outcome:
        """Run ``words`` or the program, in ``image`` or the sandbox that has everything, behind ``wrapper``."""
        program = words or ["/usr/bin/python3", str(self.script)]
        flags = [f"--mpiimport={self.mpi.name}"] if accelerated else []
        container = [self.site.apptainer(), "exec", *flags, *options, str(image or self.site.images / "py")]
        if contained:
            inner = [f"/opt/{self.mpi.name}/bin/mpiexec", *self.mpi.options, "-n", "2"]
            command = [*wrapper, *container, *inner, *program]
        else:
            command = [*wrapper, *self.mpi.command(2), *container, *program]
        variables = {"MPIIMPORT": "force" if accelerated else "0", **changes}
        return self.site.run(command, self.mpi, identity, seconds=SECONDS, directory=self.workspace, **variables)

    def handed_in(self) -> list[str]:
        """Options that bring a clean environment what the program under test needs."""
        library = self.site.environment("root", self.mpi)["MPI4PY_LIBMPI"]
        settings = {**self.mpi.environment, "MPI4PY_LIBMPI": library}
        return [word for name, value in settings.items() for word in ("--env", f"{name}={value}")]


@pytest.fixture(params=["mpich", "openmpi"])
def place(site: Site, mpis: dict[str, Mpi], request: pytest.FixtureRequest) -> Iterator[Place]:
    workspace = site.workspace("user")
    yield Place(site, mpis[request.param], workspace)


with_mpich = pytest.mark.parametrize("place", ["mpich"], indirect=True)
with_openmpi = pytest.mark.parametrize("place", ["openmpi"], indirect=True)


def ran(loader: str = SERVED) -> list[str]:
    return [f"ran {rank} 2 {loader}" for rank in range(2)]


def said(outcome: Outcome) -> list[str]:
    """What the program printed; some MPIs print on stdout, too."""
    return [line for line in outcome.lines() if line.startswith("ran")]


@with_mpich
@pytest.mark.parametrize(
    "options",
    [
        ["--writable-tmpfs"],
        ["--nv"],
        ["--no-home", "--no-mount", "tmp"],
        pytest.param(["--rocm"], marks=pytest.mark.full),
        pytest.param(["--uts", "--hostname", "inside"], marks=pytest.mark.full),
        pytest.param(["--scratch", "/scratch", "--pwd", "/scratch"], marks=pytest.mark.full),
    ],
    ids=" ".join,
)
def test_the_option_goes_with_acceleration(place: Place, options: list[str]) -> None:
    shown = ["--bind", str(place.workspace)] if "--no-mount" in options else []
    outcome = place.start(*options, *shown)
    assert outcome.printed() == ran()


@with_mpich
def test_an_overlay_goes_with_acceleration(place: Place) -> None:
    # One for each rank: an overlay is locked by the container that writes to it.
    layer = place.workspace / "layer"
    for directory in ("upper", "work"):
        (layer / directory).mkdir(parents=True)
    outcome = place.start("--overlay", str(layer), contained=True)
    assert (outcome.status, said(outcome)) == (0, ran()), outcome.stderr


CLOSED = ("--contain", "--containall", "--fakeroot", "--pid", "--ipc", "--cleanenv")


# In one container for all ranks nothing stands between them.
@pytest.mark.parametrize(
    ("place", "option"),
    [
        pytest.param(mpi, option, marks=() if number % 3 == 0 else pytest.mark.full)
        for number, (mpi, option) in enumerate(itertools.product(("mpich", "openmpi"), CLOSED))
    ],
    indirect=["place"],
)
def test_one_container_for_all_ranks_may_be_as_closed_as_it_gets(place: Place, option: str) -> None:
    """Private /tmp, process numbers and users, and a /dev/shm of 64 MB."""
    shown = ["--bind", f"{place.workspace}:{place.workspace}", *place.handed_in()]
    identity = "user" if option == "--fakeroot" else "root"
    outcome = place.start(option, *shown, identity=identity, contained=True)
    assert (outcome.status, said(outcome)) == (0, ran()), outcome.stderr
    assert outcome.ours() == []


# What is left out hangs or fails in a container for each rank, without acceleration too (docs/known-issues.md).
@pytest.mark.parametrize(
    ("place", "option"),
    [
        ("mpich", "--fakeroot"),
        ("openmpi", "--pid"),
        pytest.param("mpich", "--ipc", marks=pytest.mark.full),
        pytest.param("openmpi", "--ipc", marks=pytest.mark.full),
    ],
    indirect=["place"],
)
def test_ranks_in_containers_of_their_own_run_as_they_do_plainly(place: Place, option: str) -> None:
    identity = "user" if option == "--fakeroot" else "root"
    outcome = place.start(option, identity=identity)
    assert outcome.status == 0, outcome.stderr
    assert [line.split()[:3] for line in said(outcome)] == [["ran", str(rank), "2"] for rank in range(2)]


@with_openmpi
def test_a_small_dev_shm_is_room_enough_or_left_alone(place: Place) -> None:
    """64 MB, as Docker gives: what does not fit lies elsewhere, and the program runs."""
    place.script.write_text("import scipy.interpolate" + PROGRAM)
    small = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"', "sh")
    outcome = place.start(wrapper=small)
    assert (outcome.status, said(outcome)) == (0, ran()), outcome.stderr


@with_mpich
def test_an_image_without_mpi4py_is_served_by_ours(place: Place) -> None:
    place.script.write_text(
        "import importlib.util, numpy, os\n"
        "name = type(numpy.__loader__).__name__\n"
        'print("ran", os.environ["PMI_RANK"], 2, name, importlib.util.find_spec("mpi4py"), flush=True)\n'
    )
    outcome = place.start(image=place.site.images / "nompi4py")
    assert (outcome.status, said(outcome)) == (0, [f"{line} None" for line in ran()]), outcome.stderr


@with_mpich
def test_an_image_without_python_runs_its_command(place: Place) -> None:
    outcome = place.start(image=place.site.images / "nopython", words=["/bin/sh", "-c", "echo ran $PMI_RANK; exit 3"])
    assert (outcome.status, said(outcome)) == (3, ["ran 0", "ran 1"]), outcome.stderr


@with_mpich
def test_a_bound_tree_with_another_python_is_served(place: Place) -> None:
    """The image's Python is 3.11; the host's tree has its own, of another version."""
    python = provision("python.sh", "3.14")
    home = next(parent for parent in python.parents if parent.name.startswith("python-"))
    place.script.write_text(
        "import os, sys, xml.dom.minidom as module\n"
        'print("ran", os.environ["PMI_RANK"], sys.version_info[1], type(module.__loader__).__name__, flush=True)\n'
    )
    outcome = place.start("--bind", f"{home}:{home}:ro", words=[str(python), str(place.script)])
    assert (outcome.status, said(outcome)) == (0, [f"ran {rank} 14 {SERVED}" for rank in range(2)]), outcome.stderr


@with_mpich
def test_an_apptainer_in_a_container_starts_what_it_would(place: Place) -> None:
    """The outer start hands its profile's name on to the inner one, which cannot see the profile."""
    site, config = place.site, place.workspace / "config" / "mpiimport" / "profiles"
    write_profile(config / "site.yaml")
    needed = subprocess.run(["ldd", site.runtime], capture_output=True, text=True, check=True).stdout
    libraries = [
        word for path in re.findall(r"/\S+\.so\S*", needed) if "ld-linux" not in path for word in ("--bind", path)
    ]
    home, inner = site.runtime.parent.parent, site.images / "nopython"
    # No privileges: the runtime keeps its own variables from the inside, and with them what these machines' root needs.
    settings = f"PATH={site.runtime.parent}:$PATH XDG_CONFIG_HOME=/none"
    script = f"{settings} /.mpiimport/shim/apptainer exec --no-privs {inner} printf ran"
    shim = [site.apptainer(), "exec", "--bind", f"{home},{site.images}", *libraries]
    variables = {"MPIIMPORT_PROFILE": "site", "XDG_CONFIG_HOME": str(place.workspace / "config")}
    outcome = site.run([*shim, site.images / "py", "sh", "-c", script], place.mpi, MPIIMPORT="1", **variables)
    assert (outcome.status, outcome.lines()) == (0, ["ran"]), outcome.stderr
    assert len(outcome.ours()) == 1
    assert 'not accelerated: there is no profile "site"' in outcome.ours()[0]


@pytest.mark.parametrize(
    ("place", "image", "contained"),
    [("mpich", "py", False), ("openmpi", "py", False), ("mpich", "py", True), ("mpich", "py.sif", True)],
    indirect=["place"],
)
def test_what_lies_on_a_disk_of_the_one_node_gains_nothing(place: Place, image: str, contained: bool) -> None:
    """What lies below the container's overlay cannot be seen from inside: what starts a rank's container says so. A
    launcher inside starts ranks that share one; the node reads a directory, or an image file through one mount."""
    outcome = place.start(image=place.site.images / image, contained=contained, MPIIMPORT="1")
    assert (outcome.status, outcome.lines()) == (0, ran(PLAIN)), outcome.stderr
    (line,) = outcome.ours()
    assert "one node reads its own" in line and "MPIIMPORT=force" in line
