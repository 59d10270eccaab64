"""Every library lies in memory once per node, and once per process."""

import json
from pathlib import Path

from lab.ranks import Mpi
from tests.conftest import Job

PROGRAM = """
import ctypes, json, os
import numpy, scipy.interpolate, numpy.linalg
from mpi4py import MPI
opened = [numpy._core._multiarray_umath.__file__, scipy.interpolate._bspl.__file__ if hasattr(scipy.interpolate, "_bspl") else numpy.linalg._umath_linalg.__file__]
opened += [os.path.join(directory, name) for package in (numpy, scipy)
           for directory in [package.__path__[0] + ".libs"] for name in os.listdir(directory)]
for path in opened:
    ctypes.CDLL(path)
maps = {}
for line in open("/proc/self/maps"):
    fields = line.split()
    if len(fields) == 6 and ".so" in fields[5]:
        maps[fields[5]] = fields[3] + ":" + fields[4]
with open(f"maps-{MPI.COMM_WORLD.rank}.json", "w") as stream:
    json.dump({"maps": maps, "opened": opened}, stream)
"""


def test_staged_libraries_are_one_inode_for_all_ranks_and_ctypes_maps_no_second(
    job: Job, mpi: Mpi, tree: list[Path]
) -> None:
    outcome = job.run(mpi, 4, job.script(PROGRAM))
    assert (outcome.status, outcome.ours()) == (0, []), outcome.stderr
    reports = [json.loads(file.read_text()) for file in sorted(job.directory.glob("maps-*.json"))]
    assert len(reports) == 4
    staged = [{path: inode for path, inode in report["maps"].items() if "/mpiimport-" in path} for report in reports]
    assert len(staged[0]) > 50
    assert all(found == staged[0] for found in staged)
    for report, found in zip(reports, staged, strict=True):
        originals = ["/" + path.split("/lib/", 1)[1] for path in found]
        assert not set(originals) & set(report["maps"])
        assert {Path(path).name for path in report["opened"]} <= {Path(path).name for path in found}
