"""What an interpreter does first that was started from an image: remedies, a look at the search path, the program."""

import sys

from mpiimport.runtime import os
from mpiimport.runtime.messages import say
from mpiimport.runtime.program import END_OF_ARCHIVE, SCRIPT, Program

from .remedies import REMEDIES, Start, variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any


# What files beside a script may hide: modules by their suffixes, packages without one; and what was installed.
MODULES = {"py", "pyc", "so"}
DISTRIBUTIONS = (".egg-info", ".dist-info", ".egg-link")


class Doubt(Exception):
    """The program may not begin here; the text says why."""


def begin(start: Start, names: "frozenset[str]", leading: bytes, without: "tuple[str, ...]") -> int:
    """Run the program; return its status.

    ``names``: top-level modules that imports looked for, which the script's directory must not have; ``leading``: with
    what the script must begin; ``without``: remedies that a test leaves out.
    """
    try:
        for name, remedy in REMEDIES.items():
            if name not in without:
                remedy(start)
        code, namespace = _program([os.fsdecode(word) for word in start.words[start.own :]], names, leading)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as exc:
        if not start.freeze.is_quiet():
            say(f"mpiimport: the image is not used: {exc or type(exc).__name__}; the program starts without it")
        plain = start.freeze.plain()
        os.execve(plain[0], plain, variables_of(start.freeze.environ()))
    status: int = start.freeze.run(code, namespace)
    return status


def _program(words: list[str], names: "frozenset[str]", leading: bytes) -> "tuple[CodeType, dict[str, Any]]":
    """Return the program's code and its namespace, that of a new ``__main__``."""
    program = Program.parse(words)
    if program.kind != SCRIPT or not os.path.isfile(program.target):
        raise Doubt(f"{program.target} is no script")
    text = program.read_at_once()
    if END_OF_ARCHIVE in text or not program.is_readable():
        raise Doubt(f"{program.target} is an archive, or cannot be read here")
    if not text.startswith(leading):
        raise Doubt(f"{program.target} begins with other imports")
    if not program.is_there():
        raise Doubt(f"{program.target} cannot be compiled")
    first = program.search_entry()
    if first is not None:
        entries = os.listdir(first)
        hidden = names & modules_among(entries)
        if hidden:
            raise Doubt(f"{first} has another {min(hidden)}")
        if any(entry.endswith(DISTRIBUTIONS) for entry in entries):
            raise Doubt(f"{first} has metadata of distributions")
    sys.modules["__main__"] = new_main()
    run: Any = program.prepare()
    code, namespace = run.args
    return code, namespace


def modules_among(entries: "list[str]") -> "set[str]":
    """Return the names of the modules that entries of a directory are, or might be."""
    parts = (entry.split(".") for entry in entries)
    return {first for first, *rest in parts if not rest or rest[-1] in MODULES}


def new_main() -> "ModuleType":
    """Return ``__main__`` as the interpreter makes it before it knows of a script."""
    main = type(sys)("__main__")
    names = main.__dict__
    names["__builtins__"] = sys.modules["builtins"]
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    return main
