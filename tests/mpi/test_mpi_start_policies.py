"""`init` decides how MPI is started, and what the program's own MPI is then: untouched after a session, or off."""

import pytest

from lab.ranks import Mpi
from mpiimport.runtime.option_table import OFF, SESSION, WORLD
from tests.conftest import Job

LOADERS = "import json, sys; print(type(json.__loader__).__name__, 'mpi4py.MPI' in sys.modules)"
STATE = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Is_initialized(), MPI.Is_finalized(), MPI.Is_initialized is MPI.__dict__["Is_initialized"])
"""


@pytest.mark.parametrize("door", ["early", "module", "sitecustomize"])
def test_off_is_plain_python_with_one_line(job: Job, mpi: Mpi, door: str) -> None:
    served = job.run(mpi, 2, job.script(LOADERS), door=door, MPIIMPORT_INIT=OFF)
    assert (served.status, served.lines()) == (0, ["SourceFileLoader False"] * 2), served.stderr
    (line,) = served.ours()
    assert "MPIIMPORT_INIT=off" in line


def test_a_session_serves_and_is_over_before_the_program(job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 3, job.script(LOADERS + STATE), MPIIMPORT_INIT=SESSION)
    assert served.status == 0, served.stderr
    assert served.lines() == ["False False True"] * 3 + ["StoreSourceLoader False"] * 3
    assert served.ours() == []


def test_a_session_is_over_where_the_service_steps_aside(job: Job, mpich: Mpi) -> None:
    script = job.script(LOADERS + STATE + "MPI.Init(); print(MPI.COMM_WORLD.allreduce(1))")
    served = job.run(mpich, 2, script, MPIIMPORT_INIT=SESSION, MPIIMPORT_STORE="/nowhere")
    assert served.status == 0, served.stderr
    assert served.lines() == ["2"] * 2 + ["False False True"] * 2 + ["SourceFileLoader False"] * 2
    (line,) = served.ours()
    assert "/nowhere" in line


def test_a_library_that_cannot_restart_after_a_session_is_refused_before_anything_starts(
    job: Job, mpis: dict[str, Mpi]
) -> None:
    script = job.script(LOADERS + "\nfrom mpi4py import MPI; print(MPI.COMM_WORLD.allreduce(1))")
    served = job.run(mpis["openmpi"], 2, script, MPIIMPORT_INIT=SESSION)
    assert served.status == 0, served.stderr
    assert served.lines() == ["2"] * 2 + ["SourceFileLoader False"] * 2
    (line,) = served.ours()
    assert "Open MPI" in line and "world or off" in line


def test_an_unknown_policy_is_named(job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 2, job.script("pass"), MPIIMPORT_INIT="never")
    assert served.status == 0
    reason = f"MPIIMPORT_INIT is one of {WORLD}, {SESSION}, {OFF}, not 'never'"
    assert served.ours() == [f"mpiimport: running as plain Python: {reason}"]


def test_a_site_profile_chooses_policy_and_thread_level(job: Job, mpich: Mpi) -> None:
    script = job.script("from mpi4py import MPI; print(MPI.Query_thread() == MPI.THREAD_SERIALIZED)")
    profile = "schema_version: 1\nname: site\ndescription: a test\nservice: {thread_level: serialized}\n"
    path = job.script(profile, "site.yaml")
    served = job.run(mpich, 2, "-I", path, script)
    assert (served.status, served.lines(), served.ours()) == (0, ["True"] * 2, []), served.stderr
    job.script(profile.replace("thread_level: serialized", "init: session"), "site.yaml")
    served = job.run(mpich, 2, "-I", path, job.script(LOADERS + STATE))
    assert served.lines() == ["False False True"] * 2 + ["StoreSourceLoader False"] * 2, served.stderr
    job.script(profile.replace("thread_level: serialized", "init: 'off'"), "site.yaml")
    served = job.run(mpich, 2, "-I", path, job.script(LOADERS))
    assert served.lines() == ["SourceFileLoader False"] * 2, served.stderr
    assert len(served.ours()) == 1
