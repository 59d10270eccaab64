"""What a program sees of its modules is what it sees without mpiimport."""

from pathlib import Path

import pytest

from lab.modules import REPORT, Seen, collect
from lab.ranks import Mpi
from tests.conftest import Job

TREE = {
    "namespace_part/inner/__init__.py": "",
    "namespace_part/inner/leaf.py": "import namespace_part",
    "circular/__init__.py": "from . import one",
    "circular/one.py": "from . import two\nvalue = 1",
    "circular/two.py": "from . import one",
    "extended/__init__.py": "import os\n__path__.append(os.path.join(os.path.dirname(__file__), 'elsewhere'))\nfrom . import far",
    "extended/elsewhere/far.py": "",
    "failing/__init__.py": "import json\nraise ValueError('on purpose')",
    "latin.py": "# -*- coding: latin-1 -*-\ntext = 'caf\xe9'",
    "broken_syntax.py": "def :",
    "überall.py": "x = 1",
    "data_reader.py": "import pkgutil, os\ndata = pkgutil.get_data('circular', 'one.py')",
}
USES = """
import namespace_part.inner.leaf, circular, extended, latin, data_reader, überall
assert latin.text == "caf\\xe9" and b"value" in data_reader.data
for name, error in ("failing", ValueError), ("broken_syntax", SyntaxError), ("no_such_module", ModuleNotFoundError):
    try:
        __import__(name)
    except error as exc:
        assert error is not ModuleNotFoundError or exc.name == name
    else:
        raise AssertionError(name)
"""
PROGRAMS = {
    "numpy": "import numpy; import scipy.interpolate",
    "mpi4py": "from mpi4py import MPI; import mpi4py.futures",
    "tree": USES,
    "standard library": "import asyncio, multiprocessing, ssl, sqlite3, email.mime.text, xml.etree.ElementTree, unittest.mock",
}


def seen(job: Job, mpi: Mpi, entry_point: str, text: str, library: Path) -> list[Seen]:
    script = job.script(text + REPORT)
    job.run(mpi, 2, script, "an argument", entry_point=entry_point, PYTHONPATH=str(library)).printed()
    return collect(job.directory)


@pytest.mark.parametrize("program", PROGRAMS)
def test_modules_and_their_attributes_are_those_of_plain_python(
    job: Job, mpich: Mpi, entry_point: str, program: str
) -> None:
    library = job.directory / "library"
    for name, text in TREE.items():
        path = library / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1" if "latin" in name else "utf-8")
    (plain, _) = seen(job, mpich, "plain", PROGRAMS[program], library)
    package = job.switches(entry_point).get("PYTHONPATH", "")
    for served in seen(job, mpich, entry_point, PROGRAMS[program], library):
        if entry_point == "module":
            path = served.modules["sys"]["path"]
            served.modules["sys"]["path"] = [entry for entry in path if entry != package]
        assert served.extras(plain) == set()
        assert served.differences(plain) == {}
        assert served.mapped_more_often(plain) == {}


FINDERS_OF_FILES = """
import sys, numpy
print(sorted(path for path, finder in sys.path_importer_cache.items() if path.endswith(".py")))
"""


def test_of_files_the_script_alone_was_asked_for_modules(job: Job, mpich: Mpi, entry_point: str) -> None:
    script = job.script(FINDERS_OF_FILES)
    for name in (script, Path(script.name)):
        plain = job.run(mpich, 2, name, entry_point="plain")
        outcome = job.run(mpich, 2, name, entry_point=entry_point)
        assert outcome.lines() == plain.lines() == [str([str(script)])] * 2, outcome.stderr
    assert job.run(mpich, 2, "-c", FINDERS_OF_FILES, entry_point=entry_point).lines() == ["[]"] * 2
