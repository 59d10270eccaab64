"""Tests of packages that scientists use end under ``python -m mpiimport -m pytest`` as under ``python -m pytest``."""

from dataclasses import dataclass

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.suites.conftest import Packages
from tests.suites.outcomes import compare, pytest_suite, pytest_suite_with_imports


@dataclass(frozen=True)
class Selection:
    """``modules``: of the tests; ``least``: how many pass; ``source``: the source archive that has them, if any."""

    modules: tuple[str, ...]
    least: int
    source: str = ""


QUICK = {
    "importlib_metadata": Selection(("tests",), 110, "importlib_metadata"),
    "importlib_resources": Selection(("importlib_resources",), 150),
    "numpy": Selection(
        ("numpy.ma.tests.test_mrecords", "numpy.lib.tests.test_stride_tricks", "numpy.tests.test_public_api"), 40
    ),
}
LONG = {
    "numpy": Selection(
        (
            "numpy.linalg",
            "numpy.lib.tests.test_format",
            "numpy._core.tests.test_records",
            "numpy.random.tests.test_random",
            "numpy.tests",
            "numpy.testing",
            "numpy.typing.tests.test_runtime",
        ),
        700,
    ),
    "scipy": Selection(
        (
            "scipy.constants",
            "scipy.spatial.tests.test_distance",
            "scipy.interpolate.tests.test_bsplines",
            "scipy.io.tests.test_netcdf",
            "scipy.special.tests.test_basic",
            "scipy._lib.tests.test_public_api",
        ),
        3000,
    ),
    "pandas": Selection(
        (
            "pandas.tests.test_algos",
            "pandas.tests.io.json",
            "pandas.tests.util",
            "pandas.tests.api",
            "pandas.tests.tslibs",
            "pandas.tests.test_errors",
            "pandas.tests.test_downstream",
            "pandas.tests.plotting",
        ),
        3000,
    ),
}

# What programs that use them import, for a snapshot.
IMPORTS = {
    "numpy": ("numpy", "numpy.linalg", "numpy.testing"),
    "scipy": ("numpy", "scipy.constants", "scipy.interpolate", "scipy.io", "scipy.spatial.distance", "scipy.special"),
    "pandas": ("numpy", "pandas"),
}


def run(job: Job, mpi: Mpi, packages: Packages, selection: Selection, entry_point: str) -> None:
    path = (packages.sources / selection.source,) if selection.source else ()
    compare(job, mpi, pytest_suite(packages.python, *selection.modules, path=path), entry_point, selection.least)


@pytest.mark.parametrize("name", QUICK)
def test_as_without_mpiimport(job: Job, mpich: Mpi, packages: Packages, name: str) -> None:
    run(job, mpich, packages, QUICK[name], "module")


@pytest.mark.full
@pytest.mark.parametrize("entry_point", ["module", "kept"])
@pytest.mark.parametrize("name", LONG)
def test_more_as_without_mpiimport(job: Job, mpich: Mpi, packages: Packages, name: str, entry_point: str) -> None:
    run(job, mpich, packages, LONG[name], entry_point)


@pytest.mark.full
@pytest.mark.parametrize("entry_point", ["early", "kept"])
@pytest.mark.parametrize("name", QUICK)
def test_as_without_mpiimport_through_other_entry_points(
    job: Job, mpich: Mpi, packages: Packages, name: str, entry_point: str
) -> None:
    run(job, mpich, packages, QUICK[name], entry_point)


@pytest.mark.full
@pytest.mark.parametrize("name", LONG)
def test_as_without_mpiimport_from_a_snapshot(job: Job, mpich: Mpi, packages: Packages, name: str) -> None:
    selection = LONG[name]
    suite = pytest_suite_with_imports(job, packages.python, IMPORTS[name], *selection.modules)
    compare(job, mpich, suite, "snapshot", selection.least)
