"""Files that lie beside code are found by the module's own path, and libraries among them are mapped once."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from lab.ranks import Mpi
from tests.conftest import Job, environment_with
from tests.mpi.sameness import Setting, differences, launch, reporting

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
from importlib import machinery, util
for name, file in [("_queue", kit._queue.__file__), ("other._queue", os.path.join(here, "queue.so"))]:
    spec = util.spec_from_file_location(name, file, loader=machinery.ExtensionFileLoader(name, file))
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    seen[name] = [module.__file__, module.__name__, module.__spec__.origin, type(module.__loader__).__name__, module.SimpleQueue.__module__]
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
    spec = importlib.util.find_spec("_queue")
    assert spec and spec.origin
    extension = Path(spec.origin)
    shutil.copy(extension, kit / "queue.so")
    (kit / extension.name).symlink_to("queue.so")
    script = job.script(reporting(job, LIBRARIES))
    path = str(job.directory / "library")
    assert differences(job, mpich, script, entry_points=("early", "sitecustomize"), PYTHONPATH=path) == {}
    _, (seen, _) = launch(job, mpich, "early", script, PYTHONPATH=path)
    assert len(seen["mapped"]) == 3


DATA = """
import os, sys
import certifi, pytz, matplotlib, astropy, numba, numpy, cached
matplotlib.use("Agg")
from matplotlib import font_manager, get_data_path, pyplot
from astropy import units, time
from astropy.utils import data
seen["certifi"] = [certifi.where(), len(certifi.contents())]
seen["pytz"] = [str(pytz.timezone("Europe/Zurich")), len(pytz.all_timezones), len(pytz.open_resource("zone.tab").read())]
seen["matplotlib"] = [get_data_path(), font_manager.findfont("DejaVu Sans"), pyplot.style.available]
figure = pyplot.figure()
figure.text(0.1, 0.1, "text")
figure.canvas.draw()
seen["figure"] = bytes(figure.canvas.buffer_rgba()).count(255)
seen["astropy"] = [str((1 * units.km).to(units.m)), str(time.Time("2020-01-01").jd), data.get_pkg_data_contents("CITATION", package="astropy")[:80]]
seen["numba"] = [float(cached.total(numpy.arange(5.0))), cached.__file__]
seen["cache"] = sorted(name for name in os.listdir(os.path.join(os.path.dirname(cached.__file__), "__pycache__")) if name.endswith((".nbi", ".nbc")))
seen["hits"] = sum(cached.total.stats.cache_hits.values())
"""
CACHED = "import numba\n@numba.njit(cache=True)\ndef total(x):\n    s = 0.0\n    for v in x: s += v\n    return s\n"


@pytest.mark.full
def test_packages_find_their_data_and_numba_its_cache(job: Job, mpich: Mpi) -> None:
    setting = Setting(str(environment_with("corpus")), seconds=300)
    job.script(CACHED, "library/cached.py")
    script = job.script(reporting(job, DATA))
    variables = {
        "MPLCONFIGDIR": str(job.directory),
        "HOME": str(job.directory),
        "PYTHONPATH": str(job.directory / "library"),
    }
    # The cache is made by a served job, then used by a plain process and another served job.
    outcome, made = launch(job, mpich, "early", script, setting=setting, **variables)
    assert len(made) == 2, outcome.stderr
    assert differences(job, mpich, script, entry_points=("early",), setting=setting, **variables) == {}
    _, (seen,) = launch(job, mpich, "plain", script, setting=setting, **variables)
    assert seen["hits"] == 1 and len(seen["cache"]) == 2
