"""A Python that multiprocessing spawns reads from a pipe which program to import. Its snapshot is for that program.

It imports what stands at the begin of its parent's program, and finds it as the parent does. What comes by the pipe is
looked at before anything reads it, so that it is all there for whatever goes on.
"""

import sys

from .. import os
from ..c_functions import address, bind, open_library
from ..program import SCRIPT, SPAWNED, Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BEGIN, PIPE = "from multiprocessing.spawn import spawn_main; spawn_main(", "pipe_handle="
# By which modules end.
SUFFIXES = ("py", "pyc", "so")
# Bytes that a pipe holds, if nobody has said otherwise: pipe(7).
CAPACITY = 65536
# Such a main program is not imported: see multiprocessing.spawn.
NOT_IMPORTED = "ipython"


def with_main(program: Program) -> Program:
    """Return the main program that a spawned process imports, with what it executes among the arguments.

    Returns the process's own program where it imports none, or may find something else than the snapshot has.
    """
    text = program.target
    try:
        number = text.removeprefix(BEGIN).partition(PIPE)[2].partition(")")[0].partition(",")[0]
        # Until the pipe tells of another search path, the current directory is the first of it.
        if not text.startswith(BEGIN) or _modules(os.getcwd()) & sys.stdlib_module_names:
            return program
        told = _unpickled(_waiting(int(number)))
        main: str = told["init_main_from_path"]
        # With this search path, and without a log, imports of the snapshot were made. Dask puts directories in front.
        search = [os.path.dirname(os.path.realpath(main)), *sys.path]
        front = told["sys_path"][: -len(search)]
        is_usual = told["sys_path"] == front + search and not any(map(_modules, front))
        is_usual = is_usual and not told["log_to_stderr"] and "log_level" not in told
        if is_usual and os.path.basename(main).partition(".")[0] != NOT_IMPORTED:
            return Program(SCRIPT, main, [f"{SPAWNED}={told['start_method']}", text])
    except Exception:
        pass
    return program


def _modules(directory: str) -> set[str]:
    """Return the names of what might be modules in a directory. Raises OSError."""
    parts = [name.split(".") for name in os.listdir(directory)]
    packages = {name for name, *rest in parts if not rest and os.path.exists(f"{directory}/{name}/__init__.py")}
    return packages | {name for name, *rest in parts if rest and name.isidentifier() and rest[-1] in SUFFIXES}


def _waiting(pipe: int) -> bytes:
    """Return what waits in a pipe, and leave it there. Raises OSError."""
    reads, writes = os.pipe()
    try:
        tee = bind(address(open_library(None), "tee"), "l", "iiLI")
        size = tee(pipe, writes, CAPACITY, 0)
        return os.read(reads, size) if size > 0 else b""
    finally:
        os.close(reads)
        os.close(writes)
        sys.modules.pop("_ctypes", None)


def _unpickled(text: bytes) -> "dict[str, Any]":
    """Return what the first object of a pickle has, without the classes that it names."""
    # Whatever becomes of this process, it imports them next.
    import io
    import pickle

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> "Any":
            return lambda *arguments: None

    found: dict[str, Any] = Reader(io.BytesIO(text)).load()
    return found
