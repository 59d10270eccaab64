"""Every Python has the private parts of importlib that the runtime relies on, and can load the rank path."""

import subprocess
from pathlib import Path

from tests.conftest import ROOT
from tests.lab.ranks import clean_environment

LOAD = """
import mpiimport.runtime.command, mpiimport.runtime.early, mpiimport.runtime.machinery as machinery
import mpiimport.runtime.root.snapshot, mpiimport.runtime.metadata, mpiimport.runtime.profile
public = [name for name in vars(machinery) if name.islower() and name[0] != "_" and name != "sys"]
assert len(public) > 5 and all(callable(getattr(machinery, name)) for name in public)
"""


def test_the_runtime_loads(python: Path) -> None:
    environment = clean_environment(PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")
    subprocess.run([python, "-c", LOAD], check=True, env=environment)
