"""Files that lie beside code are found by the module's own path, and libraries among them are mapped once."""

import importlib.util
import os
import shutil
from pathlib import Path

from tests.conftest import Job
from tests.lab.ranks import Mpi
from tests.mpi.sameness import differences, launch, reporting

LIBRARIES = """
import ctypes, os, sys, kit
import numpy.linalg, kit._queue
from mpi4py import MPI
here = os.path.dirname(kit.__file__)
for words in (["lib.so"], ["..", "kit", "lib.so"], ["link.so"], ["blas-by-name.so"], ["..", "linked", "blas.so"], ["queue.so"]):
    ctypes.CDLL(os.path.join(here, *words))
ctypes.CDLL(os.path.relpath(os.path.join(here, "lib.so")))
ctypes.cdll.LoadLibrary(os.path.join(here, "blas-by-name.so"))
ctypes.PyDLL(os.path.join(here, "lib.so"))
try:
    ctypes.CDLL(os.path.join(here, "no-such.so"))
except OSError as exc:
    seen["missing"] = str(exc)
try:
    ctypes.CDLL(os.path.join(here, "text.so"))
except OSError as exc:
    seen["no library"] = str(exc)
files = set()
for line in open("/proc/self/maps"):
    fields = line.split(None, 5)
    if len(fields) == 6 and any(name in fields[5] for name in ("openblas", "/lib.so", "/kit/queue", "/kit/_queue")):
        files.add((fields[3] + fields[4], os.path.basename(fields[5]).strip()))
seen["mapped"] = sorted(name.partition(".")[0].lstrip("_") for inode, name in files)
"""


def blas() -> Path:
    import numpy

    (found,) = (Path(numpy.__file__).parent.parent / "numpy.libs").glob("*openblas*")
    return found


def test_a_library_opened_by_its_path_is_mapped_once(job: Job, mpich: Mpi) -> None:
    kit = job.script("", "library/kit/__init__.py").parent
    (quadmath,) = blas().parent.glob("*quadmath*")
    shutil.copy(quadmath, kit / "lib.so")
    (kit / "link.so").symlink_to("lib.so")
    (kit / "blas-by-name.so").symlink_to(blas())
    (job.directory / "library" / "linked").mkdir()
    (job.directory / "library" / "linked" / "blas.so").symlink_to(
        os.path.relpath(kit / "blas-by-name.so", kit.parent / "linked")
    )
    job.script("no library", "library/kit/text.so")
    # A module that is found by a link, and opened by what the link leads to.
    extension = Path(importlib.util.find_spec("_queue").origin)
    shutil.copy(extension, kit / "queue.so")
    (kit / extension.name).symlink_to("queue.so")
    script = job.script(reporting(job, LIBRARIES))
    path = str(job.directory / "library")
    assert differences(job, mpich, script, doors=("early", "sitecustomize"), PYTHONPATH=path) == {}
    _, (seen, _) = launch(job, mpich, "early", script, PYTHONPATH=path)
    assert len(seen["mapped"]) == 3
