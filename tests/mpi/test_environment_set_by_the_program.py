"""What a program sets for MPI in its environment comes too late where the service has started MPI: root says so."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

# MPICH prints its settings when it is initialised.
NAME = "MPIR_CVAR_DEBUG_SUMMARY"
PROGRAM = """
import os
{setting}
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
"""
SETTINGS = {
    "assigned": f"os.environ['{NAME}'] = '1'",
    "assigned by default": f"from os import environ\nenviron.setdefault('{NAME}', '1')",
    "updated by keyword": f"os.environ.update({NAME}='1')",
    "updated by a table": f"os.environ.update({{'OTHER': '2', '{NAME}': '1'}})",
    "put": f"os.putenv('{NAME}', '1')",
    "assigned in a function": f"def f():\n os.environ['{NAME}'] = str(1)\nf()",
    "assigned beside": "import beside",
}
READS = f"""
import os
found = os.environ.get("{NAME}", "UCX_TLS"), os.getenv("CUDA_VISIBLE_DEVICES"), "{NAME}" in os.environ
other = {{}}
other["{NAME}"] = os.environ["HOME"]
other.update({NAME}=1)
os.environ["HOME"] = os.environ.get("{NAME}", "/")
os.environ.setdefault("I_MPI_ROOT", "/elsewhere")
os.environ["UCX_TLS"] = "tcp"
from mpi4py import MPI
os.environ["{NAME}"] = "1"
"""


def prints_settings(stdout: str) -> bool:
    return "====" in stdout


@pytest.mark.parametrize("setting", SETTINGS)
def test_root_says_which_variables_for_mpi_are_set_too_late(job: Job, mpich: Mpi, setting: str) -> None:
    job.script(f"import os\nos.environ['{NAME}'] = '1'", "beside.py")
    script = job.script(PROGRAM.format(setting=SETTINGS[setting]))
    assert prints_settings(job.run(mpich, 2, script, entry_point="plain").stdout)
    for entry_point in ("early", "module"):
        served = job.run(mpich, 2, script, entry_point=entry_point)
        assert served.status == 0, served.stderr
        assert not prints_settings(served.stdout)
        (line,) = served.ours()
        assert f"{NAME} in {'beside.py' if setting == 'assigned beside' else 'app.py'}" in line
        assert "MPIIMPORT_INIT=off" in line
    started = job.run(mpich, 2, script, MPIIMPORT_INIT="off")
    assert prints_settings(started.stdout), started.stderr
    assert NAME not in started.stderr


def test_what_is_only_read_or_makes_no_difference_is_not_spoken_of(job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 2, job.script(READS), I_MPI_ROOT="/here", UCX_TLS="tcp")
    assert (served.status, served.ours()) == (0, []), served.stderr


def test_what_the_text_of_the_option_c_sets_is_spoken_of(job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 2, "-c", PROGRAM.format(setting=SETTINGS["assigned"]))
    (line,) = served.ours()
    assert f"{NAME} in the program" in line
