"""What finds a library in /proc/self/maps, and opens it by that name, gets the one that is there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import environment_with

from .baked import Baked
from .prepared import Prepared

FIND = """
import ctypes, json, numpy, os
with open("/proc/self/maps") as maps:
    paths = {line.split()[-1] for line in maps if "openblas" in line}
(path,) = paths
there = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
same = ctypes.CDLL(numpy.linalg._umath_linalg.__file__)
name = "scipy_cblas_dgemm64_"
addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for library in (there, same)]
print(json.dumps([os.path.basename(path), addresses[0] == addresses[1]]))
"""
LIMIT = """
import json, numpy
import sklearn.cluster
import threadpoolctl
before = [each["num_threads"] for each in threadpoolctl.threadpool_info()]
with threadpoolctl.threadpool_limits(1):
    within = [each["num_threads"] for each in threadpoolctl.threadpool_info()]
kinds = sorted(each["user_api"] for each in threadpoolctl.threadpool_info())
print(json.dumps([kinds, before, within]))
"""


def test_a_library_is_found_and_opened_by_its_name(prepared: Prepared) -> None:
    script = prepared.baked.script(FIND)
    prepared.prepare(script)
    started = prepared.start_restored(script)
    assert started == prepared.baked.plain(script)
    assert json.loads(started.stdout)[1]


@pytest.mark.full
def test_threadpoolctl_limits_the_threads_of_libraries(baked_with: Callable[[str], Baked], prefix: Path) -> None:
    baked = baked_with(str(environment_with("snapshot_packages")))
    prepared = Prepared(prefix, baked)
    script = baked.script(LIMIT)
    prepared.prepare(script)
    started = prepared.start_restored(script)
    assert started == baked.plain(script)
    kinds, _, within = json.loads(started.stdout)
    assert {"blas", "openmp"} <= set(kinds)
    assert set(within) == {1}
