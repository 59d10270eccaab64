"""The demonstration shows the main job, and a picture of it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from lab.ranks import Outcome, clean_environment, run
from tests.conftest import ROOT

OPERATIONS = re.compile(r"operations on the shared file system +│" + r" +([\d,]+) │" * 5)


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the virtual environment that `make demo` makes."""
    subprocess.run(["make", "build/demo-venv/ready"], cwd=ROOT, stdin=subprocess.DEVNULL, check=True)
    return ROOT / "build" / "demo-venv" / "bin" / "python"


def demonstrate(python: Path, prefix: Path, picture: Path, **environment: str) -> Outcome:
    words = [python, "-m", "benchmarks.demonstrations.demo", "--prefix", prefix, "--picture", picture]
    # Outside of a terminal, tables are made for 80 columns.
    return run([*map(str, words)], clean_environment(COLUMNS="160", **environment), 1800, ROOT)


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="the simulated cluster needs root")
def test_the_demonstration_shows_containers_on_a_shared_file_system(
    lab: None, python: Path, prefix: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "demo.png"
    done = demonstrate(python, prefix, picture)
    assert done.status == 0, done.stderr
    assert "singularity exec --mpiimport=mpich py.sif" in done.stdout
    host, sif, sandbox = [[int(cell.replace(",", "")) for cell in row] for row in OPERATIONS.findall(done.stdout)]
    for plain, first, later, session, prepared in (host, sandbox):
        assert 3 * first < plain and later < first and 2 * session < later and 2 * prepared < plain
    # An image file is opened once by each rank, whoever reads it.
    assert max(sif) < 200
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.full
def test_where_no_cluster_can_be_made_the_demonstration_says_why_and_goes_on(
    python: Path, prefix: Path, tmp_path: Path
) -> None:
    done = demonstrate(python, prefix, tmp_path / "demo.png", MPIIMPORT_LAB_CACHE="/proc/nowhere")
    assert done.status == 0, done.stderr
    assert "so on one node: " in done.stdout and "set MPIIMPORT_LAB_CACHE" in done.stdout
    assert "modules served per rank" in done.stdout
