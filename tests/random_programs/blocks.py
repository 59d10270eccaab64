"""Building blocks of random programs: what users' programs do that an import service might get wrong.

They stand in ``blocks.txt``; ``--- PATH`` stands in front of a file that one brings. ``NN`` stands for the block's
number in the program, ``<<a|b>>`` for one of the alternatives. A block may use the names of PREAMBLE, prints what it
sees, and writes only files whose names carry the rank. Paths are relative to the program's directory. Its ``lib`` is
in PYTHONPATH.
"""

from dataclasses import dataclass, field
from pathlib import Path

from tests.texts import read

PREAMBLE = """\
import os, sys
rank = int(next(filter(None, map(os.environ.get, ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")))))
HERE, PLACE, LIB = os.environ["HERE"], os.environ["PLACE"], os.environ["HERE"] + "/lib"
def write(path, text, mode="w"):
    import time
    time.sleep(0.02)  # a finder tells directories' states by their times
    with open(path, mode) as stream:
        stream.write(text)
"""


@dataclass(frozen=True)
class Block:
    """``main``: makes sense in ``__main__`` only; ``mpi``: uses MPI; ``apart``: breaks a program that uses MPI, plainly
    too; ``place``: needs the script's directory to be one; ``ending``: nothing that follows it is executed;
    ``compiled``: shows whether modules have been compiled, so that ranks must not race for that;
    ``alone``: taken by name only; ``uncaught``: an ending by an exception."""

    name: str
    text: str
    files: dict[str, str | bytes] = field(default_factory=dict)
    main: bool = False
    mpi: bool = False
    apart: bool = False
    place: bool = False
    ending: bool = False
    compiled: bool = False
    alone: bool = False
    uncaught: bool = False


# Stands in front of a text that names it: objects that act when they die.
DYING = """\
class Dying:
    def __init__(self, name): self.name = name
    def __del__(self):
        print("died", self.name, file=self.out)
        with self.open(f"{self.place}/died.{self.name}.{self.rank}", "w") as stream: stream.write("x")
    out, open, place, rank = sys.stdout, open, HERE, rank
"""


HERE = Path(__file__).parent
BLOCKS = [
    Block(name, DYING * ("Dying" in each.text) + each.text, {**each.further}, **dict.fromkeys(each.traits, True))
    for name, each in read(HERE / "blocks.txt").items()
]
LIBRARY: dict[str, str | bytes] = {
    **read(HERE / "library.txt")["library"].further,
    "lib/llatin.py": "# -*- coding: latin-1 -*-\nvalue = '\u00e9'\n".encode("latin-1"),
    "lib/lbom.py": b"\xef\xbb\xbfvalue = '\xc3\xa9'\n",
    "lib/lbadcookie.py": b"# coding: no-such\nvalue = 1\n",
}
# In the script's directory.
BESIDE: dict[str, str | bytes] = {
    "params.py": "value = 1\n",
    "gone.py": "value = 'not yet gone'\n",
    "kern.py": "value = 'module'\n",
    "xxlimited.py": "value = 'python'\n",
}
