"""`mpiimport report --plain -- COMMAND` records how long a job takes to start without mpiimport."""

from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome
from tests.conftest import Job


class Plainly:
    """`mpiimport`, called in the environment of a job of two ranks. ``ranks``: the command of the job."""

    def __init__(self, job: Job, mpi: Mpi) -> None:
        script = job.script("import decimal, sys\nprint('done')\nif len(sys.argv) > 1: sys.exit(3)")
        self.manifests = job.directory / "manifests"
        self.ranks = job.command(mpi, 2, "early", script)
        self._job, self._mpi = job, mpi

    def __call__(self, *words: str, **changes: str) -> Outcome:
        own = {"MPIIMPORT_MANIFESTS": str(self.manifests), **changes}
        return self._job.tool(*words, **self._job.environment(self._mpi, **own))


@pytest.fixture
def mpiimport(job: Job, mpich: Mpi) -> Plainly:
    return Plainly(job, mpich)


def test_a_plain_start_is_recorded_and_later_reports_compare_with_it(mpiimport: Plainly, tmp_path: Path) -> None:
    plain = mpiimport("report", "--plain", "--", *mpiimport.ranks)
    assert plain.status == 0 and plain.lines() == ["done", "done"], plain
    assert "recorded of script app.py, started plainly: " in plain.stderr
    assert [file.suffix for file in mpiimport.manifests.iterdir()] == [".plain"]
    path = str(tmp_path / "served.json")
    served = mpiimport("run", "--", *mpiimport.ranks, MPIIMPORT="force", MPIIMPORT_REPORT=path)
    assert served.status == 0, served
    first, second = mpiimport("report", path).stdout.splitlines()[:2]
    assert first.startswith("2 ranks started in ") and "; plainly rank 0 took " in first
    assert second.startswith("2 ranks: served; ")
    # Its status is the job's.
    assert mpiimport("report", "--plain", "--", *mpiimport.ranks, "fail").status == 3


def test_what_records_nothing_says_so(mpiimport: Plainly) -> None:
    for words, changes, said in (
        (["--plain"], {}, "give the command of the job"),
        ([], {}, "name the reports"),
        (["--plain", "--", "true"], {}, "true ended, and nothing was recorded in "),
        (["--plain", "--", "true"], {"MPIIMPORT": "0"}, "MPIIMPORT=0 switches mpiimport off"),
        (["--plain", "--", "true"], {"MPIIMPORT_MANIFESTS": "-"}, "no manifests are kept"),
        (["--plain", "--", "true"], {"MPIIMPORT_CACHE": "x"}, "MPIIMPORT_CACHE is one of"),
        (["--plain", "--", "/no/such"], {}, "/no/such cannot be started: No such file"),
    ):
        outcome = mpiimport("report", *words, **changes)
        assert outcome.status == 1 and outcome.stdout == "", outcome
        (line,) = outcome.stderr.splitlines()
        assert line.startswith("mpiimport: ") and said in line
