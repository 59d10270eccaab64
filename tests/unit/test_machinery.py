"""Every Python has the private parts of importlib that the runtime relies on, and can load the rank path."""

import subprocess

import pytest

from tests.conftest import ROOT
from tests.lab.ranks import clean_environment
from tests.unit.test_import_statements import PYTHONS

LOAD = """
import mpiimport.runtime.command, mpiimport.runtime.early, mpiimport.runtime.machinery as machinery
import mpiimport.runtime.root.snapshot, mpiimport.runtime.metadata, mpiimport.runtime.profile
public = [name for name in vars(machinery) if name.islower() and name[0] != "_" and name != "sys"]
assert len(public) > 5 and all(callable(getattr(machinery, name)) for name in public)
"""


@pytest.mark.parametrize("version", PYTHONS, ids=lambda version: "python{}.{}".format(*version))
def test_the_runtime_loads(version: tuple[int, int]) -> None:
    environment = clean_environment(PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")
    subprocess.run([PYTHONS[version], "-c", LOAD], check=True, env=environment)
