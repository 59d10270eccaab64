"""Before activation a rank imports built-in and frozen modules, mpi4py with its closed list, and our few files."""

import json
from pathlib import Path

import pytest

from lab.modules import CLOSED_LIST
from lab.ranks import Mpi, run
from tests.conftest import Job

DRIVER = """
import sys
before = set(sys.modules)
package = sys.argv.pop(1)
sys.path.insert(0, package)
import mpiimport.runtime.importing.imports as importing
original = importing.Imports.install
def install(self):
    import _imp
    new = [name for name in set(sys.modules) - before if not name.startswith("mpiimport.runtime.payload")]
    self._loaded_then = [name for name in new if not _imp.is_builtin(name) and not _imp.is_frozen(name)]
    original(self)
    import json, os
    with open(f"loaded-{os.getpid()}.json", "w") as stream:
        json.dump(self._loaded_then, stream)
importing.Imports.install = install
from mpiimport.runtime.startup.command import prepare_command
with prepare_command([sys.executable], sys.argv[1:], "-S" in sys.orig_argv, lambda: None, True) as execution:
    execution.begin()()
"""
BANNED = {"yaml", "json", "argparse", "logging", "pathlib", "dataclasses", "typing", "subprocess", "inspect"}


@pytest.mark.parametrize("flags", [["-S"], []])
def test_only_the_closed_list_is_imported_before_activation(job: Job, mpi: Mpi, flags: list[str], prefix: Path) -> None:
    driver = job.script(DRIVER, "driver.py")
    python = [job.python("plain")[0], *flags, str(driver), str(prefix / "lib")]
    command = [*mpi.command(2), *python, "-c", "import numpy"]
    outcome = run(command, job.environment(mpi, MPIIMPORT="force"), directory=job.directory)
    assert outcome.status == 0, outcome.stderr
    files = list(job.directory.glob("loaded-*.json"))
    assert len(files) == 2
    for file in files:
        loaded = set(json.loads(file.read_text()))
        assert not loaded & BANNED
        others = {name for name in loaded if not name.startswith(("mpiimport", "mpi4py", "_cython_"))}
        # What the tree's own .pth files import, under the early start, is the tree's doing.
        others -= {"_distutils_hack", "site", "sitecustomize"}
        assert others <= CLOSED_LIST
