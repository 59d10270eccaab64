"""`mpiimport bake -- COMMAND` leaves in the tree what the program imports, so that its first run misses nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, clean_environment, run
from mpiimport.runtime.payload.learned_manifest import BAKED
from tests.conftest import Job

SCRIPT = """
import importlib, sys
importlib.import_module("part.hi" + "dden")
print("ran with", sys.argv[1:])
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python of its own to bake into, with the packages of the tests."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (site,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    (site / "tests.pth").write_text(next(path for path in sys.path if path.endswith("site-packages")))
    for name in "__init__", "hidden":
        (site / "part").mkdir(exist_ok=True)
        (site / "part" / f"{name}.py").write_text("")
    return tmp_path / "venv" / "bin" / "python"


def bake(prefix: Path, *words: str | Path) -> Outcome:
    return run([str(prefix / "bin" / "mpiimport"), "bake", *map(str, words)], clean_environment(), 60)


def test_the_first_run_of_a_baked_program_misses_nothing(job: Job, mpich: Mpi, prefix: Path, python: Path) -> None:
    script = job.script(SCRIPT)
    baked = bake(prefix, "--", python, script, "an argument")
    assert baked.status == 0, baked.stderr
    assert "ran with ['an argument']" in baked.stdout
    (manifest,) = (python.parent.parent / BAKED).iterdir()
    assert f"baked {manifest}: " in baked.stdout
    assert "import part.hidden\n" in manifest.read_text()
    # Elsewhere, as a script that is bound into a container is.
    moved = job.script(SCRIPT, f"elsewhere/{script.name}")
    report = job.directory / "report.json"
    command = [*mpich.command(2), str(python), *job.python("early")[1:], "--report", str(report), str(moved)]
    served = run(command, job.environment(mpich, MPIIMPORT="force"), 60)
    assert served.status == 0, served.stderr
    assert json.loads(report.read_text())["missed"] == []


def test_nothing_is_baked_when_the_program_fails(job: Job, prefix: Path, python: Path) -> None:
    baked = bake(prefix, "--", python, job.script("raise SystemExit(3)"))
    assert baked.status == 1
    assert "status 3" in baked.stderr
    assert not (python.parent.parent / BAKED).exists()


def test_the_program_sees_nothing_of_the_recording(prefix: Path, job: Job, python: Path) -> None:
    script = job.script("""
import os, sys
print([entry for entry in sys.path if "mpiimport" in entry], os.environ.get("PYTHONPATH"))
import subprocess
print(subprocess.run([sys.executable, "-c", "import wsgiref"]).returncode)
""")
    baked = bake(prefix, "--", python, script)
    assert baked.stdout.splitlines()[:2] == ["[] None", "0"]
    (manifest,) = (python.parent.parent / BAKED).iterdir()
    assert "wsgiref" not in manifest.read_text()
