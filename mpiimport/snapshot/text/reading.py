"""Reads a program's files, and executes nothing of them: ``python [options] reading.py PACKAGES OUTPUT WORDS...``.

WORDS are the program as Python is given it. OUTPUT gets what marshal writes: ``full``, ``base``: what ``Begin`` takes,
or nothing; ``reason``: why the full one goes no further; ``is_asked``: the user says where it ends; ``behind``,
``base_behind``: the first step that is executed behind an import of mpi4py that waits, or None; of so many statements
of ``file`` each: ``ends``, their bytes, and line and column of their end, ``shared``, whether scripts elsewhere may
begin so, ``places``, of the next one, for a person; ``ahead``: such places of the imports ahead; ``computes``: behind
the base there is more than imports and definitions; ``own``: directories of the search path with own code. Or
``refused``: why there is nothing to read.
"""

import sys

if __name__ == "__main__":
    # As Python finds what the program imports.
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, "")
    sys.path[0] = sys.argv[1]

import marshal
from typing import Any

from mpiimport.runtime.own_code import is_own_path
from mpiimport.runtime.program import MODULE, Program, full_name
from mpiimport.snapshot.memory_map import Refused
from mpiimport.snapshot.restore.begin import SPAWN, Begin
from mpiimport.snapshot.text import own_modules
from mpiimport.snapshot.text.heads import Walk
from mpiimport.snapshot.text.statements import IMPORTS, SourceFile
from mpiimport.snapshot.text.static_cut import COMPUTATIONS, StaticCut, base_count, does, may_lie_elsewhere, static_cut

NAME = "__main__"


class Reading:
    """``words``: of the program."""

    def __init__(self, words: list[str]) -> None:
        """Raises Refused."""
        self._words = words
        program = Program.parse(words)
        self._is_module = program.kind == MODULE
        self._packages: list[tuple[str, str]] = []
        if self._is_module:
            *self._packages, (self._name, path) = _located(program.target)
        else:
            self._name, path = NAME, full_name(program.target)
        package = self._packages[-1][0] if self._packages else NAME
        self._file = SourceFile.read(package, path)
        # Own code of a module's packages is not executed for a base, nor is the module behind it.
        self._is_spawned = program.is_spawned()
        self._is_started = not (self._is_spawned or (self._is_module and own_modules.is_own(program.target)))
        # Of so many statements each: whether scripts elsewhere may begin so.
        self._shared = [self._is_started]
        for number in range(len(self._file.body)):
            self._shared.append(self._shared[-1] and may_lie_elsewhere(self._file, number + 1, number))

    def read(self) -> dict[str, Any]:
        """Return what OUTPUT gets."""
        file, cut = self._file, static_cut(self._file)
        heads = [file.head(count) for count in range(len(file.body) + 1)]
        count = 0 if self._is_spawned else cut.count
        is_started = not self._is_spawned
        full = Begin(self._words, heads[count].packed(), cut.deferred, [], [], self._shared[count], is_started)
        return {
            "own": [entry for entry in sys.path if entry and is_own_path(entry, sys.path, own_modules.names_in)],
            "file": file.path,
            "ends": [(len(head.text), *head.end) for head in heads],
            "shared": self._shared,
            "places": [file.place(number) for number in range(len(file.body) + 1)],
            "full": full.packed(),
            "reason": cut.reason,
            "is_asked": cut.is_asked,
            "behind": min(cut.deferred, default=None),
            **self._base(cut),
        }

    def _base(self, cut: StaticCut) -> dict[str, Any]:
        file, walk, count = self._file, Walk(), 0
        if self._is_spawned:
            walk.ahead.append((SPAWN, []))
            walk.places.append(f"what imports {SPAWN}")
        if self._is_started:
            count = base_count(file, cut, own_modules.is_own, own_modules.may_be_own)
            walk.through_statements(file, count, cut.count)
        elif self._is_spawned:
            walk.through_statements(file, 0, cut.count)
        elif all(walk.through_file(name, path, name) for name, path in self._packages):
            walk.through_file(self._name, file.path, file.name)
        is_less = walk.ahead or not self._is_started or does(file, count, cut.count, (*IMPORTS, *COMPUTATIONS))
        # One that scripts elsewhere may start from, too.
        is_less = is_less or self._shared[count] > self._shared[cut.count]
        if cut.is_asked or not is_less or not (count or walk.ahead):
            return {"base": (), "ahead": [], "base_behind": None, "computes": False}
        deferred = [number for number in cut.deferred if number < count]
        heads = [head.packed() for head in walk.heads]
        is_shared = self._shared[count]
        base = Begin(self._words, file.head(count).packed(), deferred, walk.ahead, heads, is_shared, self._is_started)
        firsts = [*deferred, *([count + walk.passes_mpi] if walk.passes_mpi is not None else [])]
        return {
            "base": base.packed(),
            "ahead": walk.places,
            "base_behind": min(firsts, default=None),
            "computes": does(file, count, cut.count, COMPUTATIONS) or not self._is_started,
        }


def _located(name: str) -> list[tuple[str, str]]:
    """Return names and paths of the packages above and of the module that ``-m`` runs. Raises Refused."""
    found: list[tuple[str, str]] = []
    search, names = None, name.split(".")
    for number in range(1, len(names) + 2):
        if number > len(names):
            names.append(NAME)
        full = ".".join(names[:number])
        spec = own_modules.find(full, search)
        if spec is None:
            raise Refused(f"there is no module {name} to run")
        if not own_modules.is_source(spec) or not spec.origin:
            raise Refused(f"{full} is no source file: an archive, a namespace, or compiled")
        found.append((full, spec.origin))
        search = spec.submodule_search_locations
        if search is None:
            break
    if found[-1][0] not in (name, f"{name}.{NAME}"):
        raise Refused(f"there is no module {name} to run")
    return found


def main(output: str, words: list[str]) -> None:
    """Write what is read."""
    program = Program.parse(words)
    del sys.path[0]
    first = program.search_entry()
    if first is not None:
        sys.path.insert(0, first)
    try:
        found = Reading(words).read()
    except Refused as exc:
        found = {"refused": str(exc)}
    with open(output, "wb") as stream:
        marshal.dump(found, stream)


if __name__ == "__main__":
    main(sys.argv[2], sys.argv[3:])
