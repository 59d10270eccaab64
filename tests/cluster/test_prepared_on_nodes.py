"""What is prepared once is started from on all nodes, in every later job."""

import subprocess
from pathlib import Path

import pytest

from benchmarks.measuring.containers import Containers, find_containers
from benchmarks.programs.lab_images import PREPARED, Tree, launch, library_of, site_of
from lab.cluster import python_tree
from lab.provisioning import Unavailable
from lab.ranks import Mpi

NODES, RANKS = 2, 4
# Prints the files that starts from images map. The installed program knows their checksums.
MAPPED = """
import pathlib, sys
from mpiimport.snapshot.image.checking import tables_of
from mpiimport.snapshot.image_format import MAPPED
for image in sys.argv[1:]:
    tables = tables_of(pathlib.Path(image))
    files = [tables.text(row[0]).decode() for row in tables.rows("files")]
    print(*(files[row[4]] for row in tables.rows("regions") if row[3] == MAPPED), sep="\\n")
"""
# What a node may ask more than plainly: for the way to the library, and for the snapshot.
MORE = 20


@pytest.fixture
def containers(lab: None, prefix: Path, mpich: Mpi) -> Containers:
    try:
        return find_containers(prefix, mpich)
    except Unavailable as exc:
        pytest.skip(str(exc))


def test_three_jobs_in_containers_of_an_image_file(containers: Containers) -> None:
    if not containers.user:
        pytest.skip("no ordinary user here can mount a SIF")
    with site_of(NODES, 0.0, containers, containers.images) as site:
        tree = Tree("py.sif", containers.user)
        plain = launch(RANKS, "plain", tree, site).figures
        # Each launch sees to it that all of its ranks are from the snapshot. Only the first prepares.
        for _ in range(3):
            figures = launch(RANKS, PREPARED, tree, site).figures
            assert figures["metadata"] <= plain["metadata"] + NODES * MORE, (figures, plain)


def test_a_snapshot_has_the_libraries_of_a_shared_python_in_it(containers: Containers, prefix: Path) -> None:
    """Else each process would open each of them."""
    directories = [*python_tree().values()]
    with site_of(NODES, 0.0, containers, *directories) as site:
        launch(RANKS, PREPARED, Tree(), site)
        images = [*library_of(site.cluster).glob("*/*/*/image*")]
        command = [str(prefix / "host" / "bin" / "python"), "-I", "-c", MAPPED, *map(str, images)]
        mapped = [Path(path) for path in subprocess.check_output(command, text=True).split()]
    assert mapped and not [path for path in mapped if any(path.is_relative_to(each) for each in directories)]
