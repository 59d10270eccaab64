"""What an interpreter does first that was started from an image: remedies, a look at the search path, the program."""

import builtins
import sys
from _frozen_importlib_external import FileFinder

from mpiimport.runtime import os
from mpiimport.runtime.configuration import agree_with_sys
from mpiimport.runtime.machinery import supported_file_loaders
from mpiimport.runtime.messages import say
from mpiimport.runtime.program import END_OF_ARCHIVE, SCRIPT, Program
from mpiimport.runtime.standard_streams import leave_unflushed

from .lazy_modules import executed
from .remedies import REMEDIES, Start, variables_of
from .signals_held import SignalsHeld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .beginning_of_module import ModuleBegin
    from .beginning_of_script import ScriptBegin


# Those of importlib: for archives, and for directories.
HOOKS = ("zipimporter", "FileFinder")
# What files beside a script may hide: modules by their suffixes, packages without one; and what was installed.
MODULES = {"py", "pyc", "so"}
DISTRIBUTIONS = (".egg-info", ".dist-info", ".egg-link")


class Doubt(Exception):
    """The program may not begin here; the text says why."""


class Expected:
    """What the program must be. ``names``: top-level modules that imports looked for, of which the script's directory
    must have those in ``beside`` and no others; ``leading``: with what the script must begin; ``script``: the begin
    that was run, or None; ``module``: the program where it is one, or None; ``absent``: paths that imports looked for
    in vain, which must not be there: names of the current directory, and files of devices' drivers; ``entries``: of
    the search path, of which imports asked whether they are there, so the first one must be none of them.
    """

    def __init__(
        self,
        names: "frozenset[str]",
        leading: bytes,
        script: "ScriptBegin | None",
        beside: "set[str]",
        module: "ModuleBegin | None",
        absent: "list[str]",
        entries: "list[str]",
    ) -> None:
        self.names = names
        self.leading = leading
        self.script = script
        self.module = module
        self.beside = names & beside
        self.absent = absent
        self.entries = entries


def begin(start: Start, expected: Expected, without: "tuple[str, ...]") -> int:
    """Run the program; return its status. ``without``: remedies that a test leaves out."""
    try:
        # What a handler raises would end a remedy, and functions that are called after a fork keep that to themselves.
        with SignalsHeld():
            for name, remedy in REMEDIES.items():
                if name not in without:
                    remedy(start)
        program = _program([os.fsdecode(word) for word in start.words[start.own :]], expected, start.freeze)
        _look_at_main(start)
        builtins.__import__ = start.importing
        hooks: Any = sys.modules.get("mpiimport.warm.hooks")
        for function in hooks._after if hooks is not None else ():
            function()
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as exc:
        if not start.freeze.is_quiet():
            say(f"mpiimport: the image is not used: {exc or type(exc).__name__}; the program starts without it")
        plain = start.freeze.plain()
        os.execve(plain[0], plain, variables_of(start.freeze.environ()))
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


def _program(words: list[str], expected: Expected, freeze: "Any") -> "list[Any]":
    """Return the program's code, or that of its rest, and its namespace; of a module what runs it. No frame below the
    program keeps any of it."""
    program = Program.parse(words)
    there = [path for path in expected.absent if os.path.exists(path)]
    if there:
        raise Doubt(f"imports would find {there[0]}, which was not there")
    if expected.module is None:
        _compare(program, expected)
    first = program.search_entry()
    if first is not None:
        _look_at_directory(first, expected)
        if len(sys.path_hooks) == len(HOOKS):
            # Plainly the first import has asked for it.
            sys.path_importer_cache.setdefault(first, FileFinder(first, *supported_file_loaders()))
        if first in expected.entries:
            raise Doubt(f"imports looked whether the search path has {first}")
    agree_with_sys(freeze, program.words(), first)
    if expected.script is not None:
        return expected.script.rest(program.text())
    if expected.module is not None:
        doubt = expected.module.doubt(program)
        if doubt:
            raise Doubt(doubt)
        return [expected.module.prepare(program)]
    run: Any = program.prepare()
    return [*run.args]


def _compare(program: Program, expected: Expected) -> None:
    """Raise Doubt unless the program is a script that may begin here."""
    if program.kind != SCRIPT or not os.path.isfile(program.target):
        raise Doubt(f"{program.target} is no script")
    text = program.read_at_once()
    if END_OF_ARCHIVE in text or not program.is_readable():
        raise Doubt(f"{program.target} is an archive, or cannot be read here")
    if not text.startswith(expected.leading):
        raise Doubt(f"{program.target} begins with other {'statements' if expected.script else 'imports'}")
    if expected.script is not None and not expected.script.is_script(program.target):
        raise Doubt(f"{program.target} is not {expected.script.path}, which has run to at_image()")
    if not program.is_there():
        raise Doubt(f"{program.target} cannot be compiled")


def _look_at_directory(first: str, expected: Expected) -> None:
    """Raise Doubt where the first entry of the search path hides what is in the image."""
    entries = os.listdir(first)
    other = (expected.names & modules_among(entries)) ^ expected.beside
    hidden = {name for name in other if not _hides_nothing(first, name, entries)}
    if hidden:
        raise Doubt(f"{first} has another {min(hidden)}")
    # Names of distributions are compared without case.
    if any(entry.lower().endswith(DISTRIBUTIONS) for entry in entries):
        raise Doubt(f"{first} has metadata of distributions")


def modules_among(entries: "list[str]") -> "set[str]":
    """Return the names of the modules that entries of a directory are, or might be."""
    parts = (entry.split(".") for entry in entries)
    return {first for first, *rest in parts if not rest or rest[-1] in MODULES}


def _hides_nothing(directory: str, name: str, entries: "list[str]") -> bool:
    """Tell whether an entry is a mere directory, which is no package while there is a module of this name elsewhere.

    Of a namespace, and of what was looked for in vain, it would be a part.
    """
    if name in sys.builtin_module_names:
        return True
    spec: Any = getattr(executed(name), "__spec__", None)
    if (
        name not in entries
        or any(entry.startswith(name + ".") for entry in entries)
        or not getattr(spec, "origin", None)
    ):
        return False
    try:
        return not any(entry.startswith("__init__.") for entry in os.listdir(os.path.join(directory, name)))
    except NotADirectoryError:
        return True


def new_main() -> "ModuleType":
    """Return ``__main__`` as the interpreter makes it before it knows of a script."""
    main = type(sys)("__main__")
    names = main.__dict__
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    names["__builtins__"] = sys.modules["builtins"]
    return main
