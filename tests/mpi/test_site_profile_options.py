"""What a site profile asks of the service has its effect on every rank, under both MPIs where MPI is concerned."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.native import INCLUDE, build

# An extension module with a function that nothing provides and that nobody calls.
UNBOUND = r"""
#include <Python.h>
void provided_by_nobody(void);
void never_called(void) { provided_by_nobody(); }
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "unbound"};
PyMODINIT_FUNC PyInit_unbound(void) { return PyModule_Create(&definition); }
"""
MAPPED = """
import bisect, json.decoder
maps = open("/proc/self/maps").read().split()
print(*["mpiimport-" in next(word for word in maps if f"/{name}." in word) for name in ("_json", "_bisect")])
"""


def test_lazy_binding_loads_what_binding_at_once_cannot(job: Job, mpich: Mpi) -> None:
    # Only lazy binding can load it.
    module = build(job.directory / "extensions" / "unbound.so", UNBOUND, INCLUDE, "-Wl,-z,lazy")
    unbound = str(module.parent)
    script = job.script("import unbound; print(unbound.__name__)")
    lazy = job.run(mpich, 2, script, PYTHONPATH=unbound, MPIIMPORT_BINDING="lazy")
    assert (lazy.status, lazy.lines()) == (0, ["unbound"] * 2), lazy.stderr
    for chosen in ({"MPIIMPORT_BINDING": "now"}, {}):
        now = job.run(mpich, 2, script, PYTHONPATH=unbound, **chosen)
        assert now.status != 0
        assert "undefined symbol: provided_by_nobody" in now.stderr


@pytest.mark.parametrize("what", ["MPI by its file name", "a library by its path"])
def test_the_symbols_of_what_is_preloaded_are_seen_before_and_by_mpi(job: Job, mpi: Mpi, what: str) -> None:
    if what == "MPI by its file name":
        name, preload = "MPI_Comm_rank", f"libmissing.so.1:{mpi.library.name}"
    else:
        name, preload = "ucs_global_opts", str(next(mpi.prefix.rglob("libucs.so.*")))
    script = job.script(f"import ctypes; print(hasattr(ctypes.CDLL(None), {name!r}))")
    assert job.run(mpi, 2, script).lines() == ["False"] * 2
    assert job.run(mpi, 2, script, MPIIMPORT_PRELOAD=preload).printed() == ["True"] * 2


def test_a_preloaded_path_that_does_not_load_leaves_plain_python_with_one_line(job: Job, mpi: Mpi) -> None:
    served = job.run(mpi, 2, job.script("print('ran')"), MPIIMPORT_PRELOAD="/nowhere/libmissing.so")
    assert (served.status, served.lines()) == (0, ["ran"] * 2), served.stderr
    (line,) = served.ours()
    assert "/nowhere/libmissing.so" in line and "mpi.preload" in line


def test_modules_that_are_left_alone_come_from_their_own_files(job: Job, mpich: Mpi) -> None:
    script = job.script(MAPPED)
    served = job.run(mpich, 2, "-v", script, MPIIMPORT_LEAVE_ALONE="json:_json")
    assert (served.status, served.lines()) == (0, ["False True"] * 2), served.stderr
    for rank in range(2):
        assert f"mpiimport[{rank}]: bisect from the store" in served.ours()
    ours = "\n".join(served.ours())
    assert "json.decoder from the store" not in ours and "json from the store" not in ours
    assert "missed json" not in ours and "missed _json" not in ours


def test_a_store_that_would_be_too_large_is_not_made(job: Job, mpich: Mpi) -> None:
    script = job.script("import sys, json; print(type(json.__loader__).__name__)")
    served = job.run(mpich, 2, script, MPIIMPORT_STORE_SIZE="1GiB")
    assert served.lines() == ["StoreSourceLoader"] * 2, served.stderr
    script = job.script(
        "import asyncio, email.message, http.server, sqlite3, unittest.mock, xml.dom.minidom; print('ran')"
    )
    served = job.run(mpich, 2, script, MPIIMPORT_STORE_SIZE="1MiB")
    assert (served.status, served.lines()) == (0, ["ran"] * 2), served.stderr
    (line,) = served.ours()
    assert "MPIIMPORT_STORE_SIZE=1MiB" in line


def test_with_the_breadth_package_all_of_a_package_is_served_before_anything_is_learned(job: Job, mpich: Mpi) -> None:
    job.script("", "wide/__init__.py")
    job.script("", "wide/reached.py")
    job.script("", "wide/tests/__init__.py")
    job.script("", "wide/deep/hidden.py")
    imports = "import wide.reached; [__import__('.'.join(['wide', *part])) for part in (['deep', 'hidden'], ['tests'])]"
    script = job.script(imports, "programs/app.py")
    served = {
        breadth: job.run(
            mpich, 2, "-v", script, PYTHONPATH=str(job.directory), MPIIMPORT_BREADTH=breadth, MPIIMPORT_MANIFESTS="-"
        )
        for breadth in ("closure", "package")
    }
    for breadth, names in {"closure": {"reached"}, "package": {"reached", "deep.hidden"}}.items():
        assert served[breadth].status == 0, served[breadth].stderr
        found = {
            name
            for name in ("reached", "deep.hidden", "tests")
            if f"1]: wide.{name} from the" in served[breadth].stderr
        }
        assert found == names, breadth


def test_the_variables_that_the_site_names_are_asked_before_all_others(job: Job, mpich: Mpi) -> None:
    script = job.script("import json; print(type(json.__loader__).__name__)")
    site = {"SITE_RANK": "0", "SITE_SIZE": "1"}
    served = job.run(mpich, 2, script, MPIIMPORT_RANK_VARIABLES="SITE_RANK:SITE_SIZE", **site)
    assert (served.status, served.lines()) == (0, ["SourceFileLoader"] * 2), served.stderr
    assert set(served.ours()) == {
        "mpiimport: running as plain Python: the job has one rank, so nobody to share the reading with"
    }
    served = job.run(mpich, 2, script, **site)
    assert (served.status, served.lines()) == (0, ["StoreSourceLoader"] * 2), served.stderr
