"""`mpiimport bake IMAGE -- COMMAND` puts into the image what its first job will import."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.containers.cells import Site

PROGRAM = "import importlib; importlib.import_module('xml.dom' + '.minidom'); from mpi4py import MPI"
SECONDS = 900


def copied(site: Site, kind: str, workspace: Path) -> Path:
    """An image to change, like the one of the other tests."""
    source = site.images / {"sandbox": "py", "sif": "py.sif"}[kind]
    if kind == "sif":
        return Path(shutil.copy(source, workspace))
    return Path(shutil.copytree(source, workspace / "py", symlinks=True))


# Apptainer unpacks an image file with all of root's capabilities, of which these machines' root lacks one.
@pytest.mark.parametrize(
    ("kind", "identity"), [("sandbox", "root"), pytest.param("sif", "user", marks=pytest.mark.full)]
)
def test_the_first_job_of_a_baked_image_misses_nothing(site: Site, mpich: Mpi, kind: str, identity: str) -> None:
    workspace = site.workspace(identity)
    script, report = workspace / "app.py", workspace / "report.json"
    script.write_text(PROGRAM)
    image = copied(site, kind, workspace)
    cache = {"XDG_CACHE_HOME": str(workspace / "cache")}
    command = [site.tool, "bake", image, "--", "python3", script]
    baked = site.run(command, mpich, identity, seconds=SECONDS, directory=workspace, **cache)
    assert baked.status == 0, baked.stderr
    assert "baked /usr" in baked.stdout, baked.stdout
    ranks = [*mpich.command(2), site.apptainer(), "exec", "--mpiimport=mpich", image, "python3", script]
    variables = {"MPIIMPORT": "force", "MPIIMPORT_REPORT": str(report), **cache}
    served = site.run(ranks, mpich, identity, directory=workspace, **variables)
    assert served.status == 0, served.stderr
    found = json.loads(report.read_text())
    assert found["missed"] == []
    assert found["modules_stored"] == found["modules_served"]


def test_an_image_stays_as_it_was_when_the_program_fails(site: Site, mpich: Mpi) -> None:
    image = site.images / "py.sif"
    before = image.stat()
    baked = site.run([site.tool, "bake", image, "--", "python3", "-c", "import no_such_module"], mpich)
    assert baked.status == 1
    assert "no_such_module" in baked.stderr and "ended with status 1" in baked.stderr
    assert image.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("changes", [{}, {"MPIIMPORT": "1"}], ids=["plainly", "where jobs are accelerated"])
def test_a_program_is_shown_as_it_speaks_under_any_name_of_the_runtime(
    site: Site, mpich: Mpi, tmp_path: Path, changes: dict[str, str]
) -> None:
    (tmp_path / "apptainer").symlink_to(site.runtime)
    environment = site.environment("root", mpich, **changes)
    program = r"printf 'caf\351'; echo to the other >&2; exit 3"
    baked = subprocess.run(
        [site.tool, "bake", site.images / "py", "--", "sh", "-c", program],
        env={**environment, "PATH": f"{site.prefix / 'shim'}:{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        timeout=SECONDS,
    )
    assert baked.stdout == b"caf\xe9"
    assert baked.stderr.startswith(b"to the other\n") and baked.stderr.count(b"\n") == 2, baked.stderr
    assert b"ended with status 3" in baked.stderr
