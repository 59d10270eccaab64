"""Programs that are edited between their jobs: a script with a package beside it, and a package that is run."""

from pathlib import Path

from .published import probed

APP = '''\
"""Relaxes a membrane."""
import os

os.environ["OMP_NUM_THREADS"] = "1"

import json
import sys
import numpy as np
from mpi4py import MPI
from scipy import ndimage

import model
from model.relax import relax
from settings import SIZE

STEPS = 5


class Result:
    """What a rank has found."""

    def __init__(self, field):
        self.field = field

    def total(self):
        return round(float(self.field.sum()), 9)


def smooth(field):
    return ndimage.uniform_filter(field, 3)


def names_of(modules, place=""):
    # The entry point of a start without a snapshot has modules of its own.
    return sorted(name for name, found in modules.items() if name[:9] != "mpiimport" and place in str(found))


def described(*objects):
    import inspect

    return [inspect.getsource(each) for each in objects]


def main():
    field = np.arange(SIZE * SIZE, dtype=float).reshape(SIZE, SIZE) * (MPI.COMM_WORLD.rank + 1)
    for step in range(STEPS):
        field = smooth(relax(field))
    total = Result(field).total()
    print(json.dumps([total, MPI.COMM_WORLD.allreduce(total), STEPS, SIZE, model.VERSION]))
    print(described(main, smooth, relax), Result.__doc__, main.__code__.co_firstlineno, __doc__, __file__)
    print(names_of(sys.modules), names_of(sys.modules, PLACE))
    print(os.environ.get("OMP_NUM_THREADS"), sorted(globals()), sys.argv[1:], sys.path[0])


PLACE = os.path.dirname(__file__)
if __name__ == "__main__":
    main()
'''
SCRIPT = {
    "app.py": probed(APP),
    "settings.py": "SIZE = 8\n",
    "model/__init__.py": '"""Membranes."""\nimport numpy as np\n\nVERSION = "1.0"\n',
    "model/relax.py": """\
from __future__ import annotations

import numpy as np
from scipy.fft import dct

from .boundary import fixed

TOLERANCE = 1e-3


def relax(field):
    means = dct(field.mean(axis=0))
    return fixed(0.5 * (field + means[1]))
""",
    "model/boundary.py": """\
import logging
import numpy as np

log = logging.getLogger(__name__)


def fixed(field):
    field[0] = field[-1] = 0
    log.debug("the boundary is fixed")
    return np.asarray(field)
""",
}
# Run by ``python -m tool``.
TOOL = {
    "tool/__init__.py": '"""A tool."""\nimport numpy as np\n\nVERSION = "2.0"\n',
    "tool/__main__.py": probed(
        """\
import sys
from mpi4py import MPI
from scipy import ndimage

from . import VERSION
from .core import work


def main():
    print(VERSION, work(ndimage), MPI.COMM_WORLD.allreduce(1), main.__code__.co_firstlineno, __spec__.name)
    print(sorted(name for name in sys.modules if name[:9] != "mpiimport"), sys.argv[1:])


if __name__ == "__main__":
    main()
"""
    ),
    "tool/core.py": """\
import numpy as np
from scipy.fft import dct


def work(ndimage):
    return round(float(ndimage.sum(dct(np.linspace(0, 3, 7)))), 9)
""",
}
# What is in these is no installed package.
OWN = ("model", "settings", "extra", "more", "colorsys", "json", "tool", "__main__")


class Editor:
    """Changes files as editors do: writes into them, or ``renames`` a new one."""

    def __init__(self, place: Path, files: dict[str, str], renames: bool = False) -> None:
        self.place = place
        self._renames = renames
        for name, text in files.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.place / name
        path.parent.mkdir(exist_ok=True)
        written = path.with_name(f".{path.name}.new") if self._renames else path
        written.write_text(text)
        written.replace(path)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.place / name).read_text()
        assert text.count(old) == 1, (name, old)
        self.write(name, text.replace(old, new))

    def remove(self, *names: str) -> None:
        for name in names:
            path = self.place / name
            if path.is_dir():
                self.remove(*(str(each.relative_to(self.place)) for each in path.iterdir()))
                path.rmdir()
            else:
                path.unlink()
