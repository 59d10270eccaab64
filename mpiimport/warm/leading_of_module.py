"""What may be in an image of a module that runs as a program, ``python -m NAME``.

Plainly the packages above it are imported first. Of a module of the tree these are imports as others, and the imports
with which it begins follow. Where a job may write, in the current directory, nothing is imported before its time: the
begins of these files are taken, each as long as all before it have nothing but such imports.
"""

import ast
import marshal
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .beginning import modules_among
from .leading import leading_imports, until
from .memory_map import Refused
from .witness import NEVER

HERE = Path(__file__).resolve().parent
SECONDS = 60
OWN = "mpiimport"


@dataclass(frozen=True)
class Part:
    """A file that runs: ``text``: with what it must begin; ``is_whole``: it is to have nothing else."""

    name: str
    path: str
    text: bytes
    is_whole: bool


@dataclass(frozen=True)
class ModuleLeading:
    """``name``: as ``-m`` has it; ``runs``: that of the module whose code runs; ``directory``: the current one, where
    the module is found there, else nothing; ``packages``: paths of the packages above one in the tree."""

    name: str
    runs: str
    directory: str
    parts: tuple[Part, ...]
    packages: tuple[str, ...]

    @property
    def package(self) -> str:
        """The package to which relative imports belong; empty where there may be none."""
        return "" if self.directory else self.runs.rpartition(".")[0]

    def texts(self) -> list[bytes]:
        """Return what is imported, as programs to execute one after another. Plainly ``runpy`` is there first."""
        first = ["runpy", self.package] if self.package else ["runpy"]
        return [f"import {', '.join(first)}".encode(), *(part.text for part in self.parts)]

    def files(self) -> list[str]:
        """Return the paths that lead to a module of the tree."""
        own = () if self.directory else (self.parts[0].path, *self.packages)
        return sorted({path for file in own for path in (file, os.path.dirname(file))})

    def packed(self) -> tuple[object, ...]:
        """Return what ModuleBegin takes."""
        parts = [(part.name, part.path, part.text, part.is_whole) for part in self.parts]
        return self.name, self.directory, parts


def leading_of_module(words: list[str], name: str, directory: Path) -> ModuleLeading:
    """Return what an image of a module may hold. Raises Refused where there is none.

    ``words``: the interpreter and its options; ``directory``: for what is written.
    """
    if name.partition(".")[0] in (NEVER, OWN):
        raise Refused(f"nothing of {name} is in an image; name the program itself, a script or another module")
    *packages, module = _located(words, name, directory)
    # The first entry of the search path, unless options leave that out: then the top of the tree is another one.
    here = os.getcwd()
    top = packages[0][1] if packages else module[1]
    place = os.path.dirname(os.path.dirname(top) if packages else top)
    beside = modules_among(os.listdir(here))
    if place == here:
        parts = _parts_beside([*packages, module], beside)
        above: tuple[str, ...] = ()
    else:
        here = ""
        parts = [_part(*module, beside)]
        above = tuple(path for _, path in packages)
    if not above and not any(part.text for part in parts):
        raise Refused(f"the module {name} does not begin with imports")
    return ModuleLeading(name, module[0], here, tuple(parts), above)


def _located(words: list[str], name: str, directory: Path) -> list[tuple[str, str]]:
    """Return names and paths of the packages above and of the module. Raises Refused."""
    output = directory / "located"
    outcome = subprocess.run(
        [*words, str(HERE / "locating.py"), str(output), name], capture_output=True, text=True, timeout=SECONDS
    )
    if outcome.returncode:
        raise Refused(f"the module {name} cannot be looked for: {' '.join(outcome.stderr.splitlines()[-1:])}")
    found: list[tuple[str, str, bool]] = marshal.loads(output.read_bytes())
    others = [each for each, _, is_source in found if not is_source]
    if others:
        raise Refused(f"{others[0]} is no source file: an archive, a namespace, or compiled")
    last = found[-1][0] if found else ""
    if last not in (name, f"{name}.__main__") or (last == name and os.path.basename(found[-1][1]) == "__init__.py"):
        raise Refused(f"there is no module {name} to run")
    return [(each, path) for each, path, _ in found]


def _part(name: str, path: str, beside: set[str], is_beside: bool = False) -> Part:
    """``is_beside``: then relative imports are of what lies beside, too."""
    try:
        source = Path(path).read_bytes()
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError) as exc:
        raise Refused(f"the module {name} cannot be read: {exc}") from None
    last, count = leading_imports(tree, beside, not is_beside)
    if is_beside and count == len(tree.body):
        return Part(name, path, source, True)
    return Part(name, path, until(source, last) if last is not None else b"", False)


def _parts_beside(files: list[tuple[str, str]], beside: set[str]) -> list[Part]:
    parts = []
    for name, path in files:
        parts.append(_part(name, path, beside, True))
        if not parts[-1].is_whole:
            break
    return parts
