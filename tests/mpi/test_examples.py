"""Every example runs."""

import shutil
import subprocess
from pathlib import Path

from lab.ranks import Mpi
from tests.conftest import ROOT, Job


def test_import_time(job: Job, mpi: Mpi) -> None:
    outcome = job.run(mpi, 2, ROOT / "examples" / "import_time.py", entry_point="module")
    assert outcome.status == 0, outcome.stderr
    assert len(outcome.lines()) == 2
    assert all("modules from the store" in line and " 0 modules" not in line for line in outcome.lines())


def test_site_profile(prefix: Path, tmp_path: Path) -> None:
    profile = shutil.copy(ROOT / "examples" / "site.yaml", tmp_path)
    subprocess.run([prefix / "bin" / "mpiimport-plan", "check", profile], check=True)
    plan = subprocess.run(
        [prefix / "bin" / "mpiimport-plan", "show", "--profile", profile], stdout=subprocess.PIPE, check=True
    )
    assert b"OMP_NUM_THREADS" in plan.stdout
