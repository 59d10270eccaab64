"""`mpiimport doctor IMAGE` asks the image's own Python, through the entry point that jobs take."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import write_profile
from tests.containers.cells import Site

Examine = Callable[..., Outcome]


@pytest.fixture
def examine(site: Site, mpich: Mpi) -> Examine:
    def doctor(image: str, *words: str, identity: str = "root", **changes: str) -> Outcome:
        path = f"{mpich.prefix / 'bin'}:{site.environment(identity, mpich)['PATH']}"
        command = [site.tool, "doctor", *words, site.images / image]
        return site.run(command, mpich, identity, **{"PATH": path, **changes})

    return doctor


@pytest.mark.parametrize(
    ("image", "identity", "mpi4py"),
    [
        ("py", "user", "/usr/local/lib/python3.11/dist-packages/mpi4py (the tree's)"),
        ("py.sif", "root", "/usr/local/lib/python3.11/dist-packages/mpi4py (the tree's)"),
        ("nompi4py", "root", "/.mpiimport/mpi4py/cp311/mpi4py (mpiimport's own, the tree has none)"),
    ],
)
def test_an_images_own_python_answers(examine: Examine, image: str, identity: str, mpi4py: str) -> None:
    outcome = examine(image, identity=identity)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert "/usr/bin/python3, tree /usr on " in outcome.stdout
    assert mpi4py in " ".join(outcome.stdout.split())
    assert "ABI of mpich, /opt/mpich/lib/libmpi.so.12" in outcome.stdout
    assert "containers  apptainer version 1.4" in outcome.stdout


def test_the_image_is_started_with_the_profile(examine: Examine, site: Site, tmp_path: Path) -> None:
    profile = write_profile(tmp_path / "other.yaml", "mpi: {library: /opt/openmpi/lib/libmpi.so.40}\n")
    outcome = examine("py", "--profile", str(profile), MPI4PY_LIBMPI="")
    assert outcome.status == 1
    assert "/opt/openmpi/lib/libmpi.so.40" in outcome.stdout
    assert "starts jobs of mpich, and the library is openmpi's" in " ".join(outcome.stdout.split())


def test_an_image_without_python_is_wrong(examine: Examine) -> None:
    outcome = examine("nopython")
    assert outcome.status == 1
    assert '"python3": executable file not found' in " ".join(outcome.stdout.split())


def test_a_machine_without_a_runtime_is_wrong(examine: Examine) -> None:
    outcome = examine("py", PATH="/usr/bin:/bin")
    assert outcome.status == 1
    assert "no apptainer or singularity was found: load the module that brings it" in " ".join(outcome.stdout.split())
