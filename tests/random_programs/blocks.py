"""Building blocks of random programs: what users' programs do that an import service might get wrong.

They stand in ``blocks.txt``: ``=== NAME [TRAITS]`` in front of each, ``--- PATH`` in front of a file that it brings;
``###`` begins a line for readers. ``NN`` stands for the block's number in the program, ``<<a|b>>`` for one of the
alternatives. A block may use the names of PREAMBLE, prints what it sees, and writes only files whose names carry the
rank. Paths are relative to the program's directory. Its ``lib`` is in PYTHONPATH.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

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


def _block(text: str) -> Block:
    head, _, rest = text.partition("\n")
    name, _, traits = head.rstrip("]").partition(" [")
    code, files = _files(rest)
    named = dict.fromkeys(filter(None, traits.split(", ")), True)
    return Block(name, DYING + code if "Dying" in code else code, files, **named)


def _files(text: str) -> tuple[str, dict[str, str | bytes]]:
    """Return what stands in front of the first file, and the files."""
    first, *files = re.split("^--- ", text, flags=re.MULTILINE)
    return first, {path: content for path, _, content in (each.partition("\n") for each in files)}


def _read(name: str) -> str:
    return re.sub("^### .*\n", "", Path(__file__).with_name(name).read_text("utf-8"), flags=re.MULTILINE)


BLOCKS = [_block(text) for text in re.split("^=== ", _read("blocks.txt"), flags=re.MULTILINE)[1:]]
LIBRARY: dict[str, str | bytes] = {
    **_files(_read("library.txt"))[1],
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
