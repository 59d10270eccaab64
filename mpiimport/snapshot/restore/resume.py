"""What an interpreter from a snapshot does first: reinitialisers, a comparison of the search path, the program."""

import builtins
import sys

from mpiimport.runtime import os
from mpiimport.runtime.configuration import agree_with_sys
from mpiimport.runtime.messages import say
from mpiimport.runtime.program import END_OF_ARCHIVE, SCRIPT, Program
from mpiimport.runtime.standard_streams import leave_unflushed

from ..lazy_modules import executed
from .reinitialisers import REINITIALISERS, variables_of
from .signals_held import SignalsHeld
from .start_data import Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .begin import Begin


# What files beside a script may hide: modules by their suffixes, packages without one; and what was installed.
MODULES = {"py", "pyc", "so"}
# The starter's own word: see restorer/command.h.
BASE = b"--base"
DISTRIBUTIONS = (".egg-info", ".dist-info", ".egg-link")


class Doubt(Exception):
    """The program may not begin here; the text says why."""


class Beside:
    """What a directory of the search path must have. ``names``: top-level modules that imports looked for; it
    must have those among ``entries`` and no others."""

    def __init__(self, names: "frozenset[str]", entries: "list[str]") -> None:
        self.names = names
        self.modules = {entry for entry in entries if names & modules_among([entry])}
        self.distributions = {entry for entry in entries if is_distribution(entry)}


class Expected:
    """What the program must be. ``begin``: what was executed of it; ``beside``: what its directory has; ``absent``:
    paths that imports looked for in vain, which must not be there: names of the current directory, and files of
    devices' drivers; ``entries``: of the search path; imports asked whether they are there, so the first one
    must be none of them where it differs; ``relative``: what directories have that are entries of the search
    path by the current directory; ``arguments``: of the program, where imports have looked at them, or None.
    """

    def __init__(
        self,
        begin: "Begin",
        beside: Beside,
        absent: "list[str]",
        entries: "list[str]",
        relative: "dict[str, Beside]",
        arguments: "list[str] | None",
    ) -> None:
        self.begin = begin
        self.beside = beside
        self.absent = absent
        self.entries = entries
        self.relative = relative
        self.arguments = arguments


def resume(start: Start, expected: Expected, without: "tuple[str, ...]") -> int:
    """Run the program; return its status. ``without``: reinitialisers that a test leaves out."""
    given = variables_of(start.freeze.environ())
    try:
        # What a handler raises would end a reinitialiser, and functions called after a fork keep that to themselves.
        with SignalsHeld():
            for name, reinitialiser in REINITIALISERS.items():
                if name not in without:
                    reinitialiser(start)
        words = [os.fsdecode(word) for word in start.words[start.own :]]
        program = _program(words, expected, start)
        _look_at_main(start)
        builtins.__import__ = start.importing
        hooks: Any = sys.modules.get("mpiimport.snapshot.hooks")
        for function in hooks._after if hooks is not None else ():
            function()
        start.reporting.begin(words)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as exc:
        plain = start.freeze.plain()
        if not start.freeze.is_quiet():
            why = exc or type(exc).__name__
            if plain[1:2] == [BASE]:
                say(f"mpiimport: the full snapshot is not used: {why}; the base is tried")
            else:
                say(f"mpiimport: the snapshot is not used: {why}; the program starts without it{start.reinitialiser}")
        os.execve(plain[0], plain, given)
    try:
        status: int = start.freeze.run(program)
    finally:
        # Those of a script have been flushed; the interpreter would flush them for the maker's own file as well.
        leave_unflushed()
    return status


def _look_at_main(start: Start) -> None:
    """Have collections not pass over the program's module, which is the one that modules of the image have kept."""
    main = sys.modules["__main__"]
    start.freeze.look_at(main)
    start.freeze.look_at(main.__dict__)


def _program(words: list[str], expected: Expected, start: Start) -> "list[Any]":
    """Return the code of the program's rest, and its namespace; of a module what runs it. No frame below the program
    keeps any of it."""
    program = Program.parse(words)
    there = [path for path in expected.absent if os.path.exists(path)]
    if there:
        raise Doubt(f"imports would find {there[0]}, which was not there")
    if expected.arguments is not None and program.arguments != expected.arguments:
        raise Doubt("imports looked at the arguments, and these are others")
    if program.kind == SCRIPT:
        _look_at_script(program)
    doubt = expected.begin.doubt(program)
    if doubt:
        raise Doubt(doubt)
    first, entry = program.search_entry(), expected.begin.entry
    if entry is not None and entry != first:
        _look_for_modules_of(entry)
    if first is not None:
        _look_at_directory(first, expected.beside, first == entry)
        if first in expected.entries and first != entry:
            raise Doubt(f"imports looked whether the search path has {first}")
    if expected.relative and os.readlink("/proc/self/cwd") != start.directory:
        raise Doubt(f"the search path begun in {start.directory} has relative entries, and this is another directory")
    for path, beside in expected.relative.items():
        if os.path.isdir(path):
            _look_at_directory(path, beside, True)
    rest = expected.begin.rest(program)
    is_spawned = expected.begin.is_spawned
    agree_with_sys(start.freeze, [*sys.argv] if is_spawned else program.words(), "" if is_spawned else first)
    return rest


def _look_at_script(program: Program) -> None:
    """Raise Doubt unless the program is a script that may begin here."""
    if not os.path.isfile(program.target):
        raise Doubt(f"{program.target} is no script")
    if END_OF_ARCHIVE in program.read_at_once() or not program.is_readable():
        raise Doubt(f"{program.target} is an archive, or cannot be read here")


def _look_for_modules_of(entry: str) -> None:
    """Raise Doubt where a module was imported from beside a script that lies elsewhere now: a link may lead to it."""
    for name, module in [*sys.modules.items()]:
        if "." not in name and entry in _places_of(module):
            raise Doubt(f"{name} was imported from {entry}, and the program does not lie there now")


def _places_of(module: object) -> "list[str]":
    """Return the directories in which a module was found."""
    try:
        spec: Any = object.__getattribute__(module, "__spec__")
        packages = spec.submodule_search_locations
        return [os.path.dirname(path) for path in ([spec.origin] if packages is None else packages)]
    # What stands for a module need not have all of this.
    except (AttributeError, TypeError):
        return []


def _look_at_directory(path: str, beside: Beside, is_same: bool) -> None:
    """Raise Doubt where an entry of the search path hides what is in the snapshot. ``is_same``: it is the maker's."""
    entries = os.listdir(path)
    now = {entry for entry in entries if beside.names & modules_among([entry])}
    hidden = {entry for entry in now ^ beside.modules if not _hides_nothing(path, entry)}
    if hidden:
        raise Doubt(f"{path} has another {min(modules_among([*hidden]))}")
    distributions = {entry for entry in entries if is_distribution(entry)}
    if distributions != beside.distributions or (distributions and not is_same):
        raise Doubt(f"{path} has other metadata of distributions")


def is_distribution(entry: str) -> bool:
    """Tell whether an entry of a directory is metadata of what was installed. Names are compared without case."""
    return entry.lower().endswith(DISTRIBUTIONS)


def modules_among(entries: "list[str]") -> "set[str]":
    """Return the names of the modules that entries of a directory are, or might be."""
    parts = (entry.split(".") for entry in entries)
    return {first for first, *rest in parts if not rest or rest[-1] in MODULES}


def _hides_nothing(directory: str, entry: str) -> bool:
    """Tell whether an entry is a mere directory, which is no package while there is a module of this name elsewhere.

    Of a namespace, and of what was looked for in vain, it would be a part.
    """
    name = entry.partition(".")[0]
    if name in sys.builtin_module_names:
        return True
    spec: Any = getattr(executed(name), "__spec__", None)
    if entry != name or not getattr(spec, "origin", None):
        return False
    try:
        return not any(each.startswith("__init__.") for each in os.listdir(os.path.join(directory, entry)))
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return False


def new_main() -> "ModuleType":
    """Return ``__main__`` as the interpreter makes it before it knows of a script."""
    main = type(sys)("__main__")
    names = main.__dict__
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    names["__builtins__"] = sys.modules["builtins"]
    return main
