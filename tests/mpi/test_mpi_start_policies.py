"""`init` decides whether MPI is started, and `thread_level` how."""

import sys

from lab.ranks import Mpi
from mpiimport.runtime.option_table import OFF, WORLD
from tests.conftest import Job
from tests.mpi.native import build

LOADERS = "import json, sys; print(type(json.__loader__).__name__, 'mpi4py.MPI' in sys.modules)"


def test_off_is_plain_python_with_one_line(job: Job, mpi: Mpi, entry_point: str) -> None:
    served = job.run(mpi, 2, job.script(LOADERS), entry_point=entry_point, MPIIMPORT_INIT=OFF)
    assert (served.status, served.lines()) == (0, ["SourceFileLoader False"] * 2), served.stderr
    (line,) = served.ours()
    assert "MPIIMPORT_INIT=off" in line


def test_an_unknown_policy_is_named(job: Job, mpich: Mpi) -> None:
    served = job.run(mpich, 2, job.script("pass"), MPIIMPORT_INIT="never")
    assert served.status == 0
    reason = f"MPIIMPORT_INIT is one of {WORLD}, {OFF}, not 'never'"
    assert served.ours() == [f"mpiimport: running as plain Python: {reason}"]


def test_an_unknown_switch_is_named(job: Job, mpich: Mpi, entry_point: str) -> None:
    served = job.run(mpich, 2, job.script(LOADERS), entry_point=entry_point, MPIIMPORT="off")
    assert (served.status, served.lines()) == (0, ["SourceFileLoader False"] * 2)
    assert served.ours() == ["mpiimport: running as plain Python: MPIIMPORT is one of 0, 1, force, not 'off'"]


def test_a_site_profile_chooses_policy_and_thread_level(job: Job, mpich: Mpi) -> None:
    script = job.script("from mpi4py import MPI; print(MPI.Query_thread() == MPI.THREAD_SERIALIZED)")
    profile = "schema_version: 1\nname: site\ndescription: a test\nservice: {thread_level: serialized}\n"
    path = job.script(profile, "site.yaml")
    served = job.run(mpich, 2, "-I", path, script)
    assert (served.status, served.lines()) == (0, ["True"] * 2), served.stderr
    job.script(profile.replace("thread_level: serialized", "init: 'off'"), "site.yaml")
    served = job.run(mpich, 2, "-I", path, job.script(LOADERS))
    assert served.lines() == ["SourceFileLoader False"] * 2, served.stderr
    assert len(served.ours()) == 1


# Ends the job where it is asked for MPI_THREAD_MULTIPLE, as transports do that have none.
REFUSAL = """
#include <stdio.h>
#include <unistd.h>
int PMPI_Init_thread(int *count, char ***words, int wanted, int *provided);
int MPI_Init_thread(int *count, char ***words, int wanted, int *provided) {
    if (wanted == 3) { fputs("no MPI_THREAD_MULTIPLE\\n", stderr); _exit(17); }
    return PMPI_Init_thread(count, words, wanted, provided);
}
"""
LESS = """
import ctypes, os, sys
import mpi4py
how = sys.argv[1] if len(sys.argv) > 1 else ""
if how == "single": mpi4py.rc.threads = False
if how == "serialized": mpi4py.rc.thread_level = "serialized"
if how == "funneled": mpi4py.rc(thread_level="funneled")
if how == "by hand": mpi4py.rc.initialize = False
from mpi4py import MPI
if how == "by hand": MPI.Init_thread(MPI.THREAD_FUNNELED)
level = ctypes.c_int()
ctypes.CDLL(os.environ["MPI4PY_LIBMPI"]).MPI_Query_thread(ctypes.byref(level))
print(how, MPI.COMM_WORLD.allreduce(1), MPI.Query_thread(), level.value)
if how == "by hand": MPI.Finalize()
"""


def test_a_library_without_threads_serves_programs_that_ask_for_none(job: Job, mpi: Mpi) -> None:
    found_at = f"-Wl,-rpath,{mpi.library.parent}"
    library = build(job.directory / "refusal.so", REFUSAL, mpi.library, found_at)
    # The launcher is to run without it.
    python = job.script(f'#!/bin/sh\nLD_PRELOAD={library} exec {sys.executable} "$@"\n', "python")
    python.chmod(0o755)
    job = Job(job.prefix, job.directory, python)
    script = job.script(LOADERS + LESS)
    forms: list[tuple[list[str], dict[str, str]]] = [
        *(([str(script), how], {}) for how in ("single", "serialized", "funneled", "by hand")),
        ([str(script)], {"MPI4PY_RC_THREAD_LEVEL": "serialized"}),
        ([str(script)], {"MPI4PY_RC_THREADS": "0"}),
        (["-m", "mpi4py", "-rc", "threads=False", str(script)], {}),
    ]
    for words, variables in forms:
        plain = job.run(mpi, 2, *words, entry_point="plain", **variables)
        served = job.run(mpi, 2, *words, **variables)
        assert plain.status == 0, plain.stderr
        said = [line for line in plain.lines() if "Loader" not in line]
        assert said == [line for line in served.lines() if "Loader" not in line], (words, variables, served.stderr)
        assert (served.status, served.ours()) == (0, []), (words, variables, served.stderr)
        assert "StoreSourceLoader" in served.stdout, words
