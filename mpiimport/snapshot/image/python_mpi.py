"""What python-mpi starts, and by which name it knows a program."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from mpiimport.runtime.startup.preparing import ASKED

from ..interpreter import split
from ..memory_map import Refused

PYTHON_MPI = Path(__file__).resolve().parents[4] / "bin" / "python-mpi"
SECONDS = 60
# As it looks for them along PATH: hooks/cmd/python-mpi.
USUAL, PYTHONS = "-", ("python", "python3")
# The only option with which it starts a program from a snapshot: that was made with it.
UNBUFFERED = "-u"


def command_of(name: str, words: list[str]) -> tuple[list[str], list[str]]:
    """Return what python-mpi starts, and all paths that it would look at. Raises Refused.

    ``name``: that of Python, - for its usual ones; ``words``: the interpreter's options, the script or -m and the
    module, and its arguments. python-mpi starts Python with its options, then the program.
    """
    python, looked_at = _python(PYTHONS if name == USUAL else (name,))
    (_, *options), program = split([python, *words])
    if options not in ([], [UNBUFFERED]):
        raise Refused(
            f"{PYTHON_MPI.name} starts no snapshot of a python with options but {UNBUFFERED}: {' '.join(options)}"
        )
    return [python, *options, *program], looked_at


def program_of(command: list[str]) -> list[str]:
    """Return the script or -m and the module, with its arguments, of what python-mpi starts."""
    return command[2:] if command[1] == UNBUFFERED else command[1:]


class Key(NamedTuple):
    """``program``: the name by which python-mpi knows one program as it is started; ``name``: the same, however it is
    started; ``begin``: that of bases, for all scripts that are started alike, empty for a module; ``facts``: what the
    first is made of."""

    program: str
    name: str
    begin: str
    facts: str


def key_of(name: str, words: list[str]) -> Key:
    """Ask python-mpi by which names it knows a program behind options of Python. Raises Refused."""
    try:
        asked = subprocess.run([PYTHON_MPI, "--image", name, *words], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as exc:
        raise Refused(f"{PYTHON_MPI} cannot be asked: {exc}") from None
    if asked.returncode:
        raise Refused(asked.stderr.strip())
    key = Key(*asked.stdout.rstrip("\n").split("\n"))
    if (os.environ.get(ASKED) or key.program) != key.program:
        raise Refused(
            "PATH is not what it was where python-mpi was called: a program in front of Python changes it, as pyenv's "
            "does; put the directory of the interpreter itself first on PATH"
        )
    return key


def _python(names: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return the Python that python-mpi starts, and all paths that it would look at. Raises Refused."""
    looked_at = []
    directories = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for name in names:
        for path in [name] if "/" in name else [os.path.join(directory, name) for directory in directories]:
            looked_at.append(path)
            if shutil.which(path):
                return path, looked_at
    raise Refused(f"there is no {names[0]} on PATH")
