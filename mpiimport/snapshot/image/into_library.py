"""A snapshot for the library, as `mpiimport prepare` wants it.

    into_library.py LIBRARY WHEN PYTHON OPTIONS... PROGRAM [ARGUMENTS]

A process becomes this that python-mpi has started as the job would, in a container say, to make the snapshot in the
place of running its program. WHEN is `now`, while a person waits, `beside`, while a job runs, or `worker`, beside one.
PYTHON is the name by which python-mpi starts Python, - for its usual ones; OPTIONS are the interpreter's, and PROGRAM
is a script, or -m and a module.
"""

import os
import sys
from errno import EDQUOT, ENOSPC
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from mpiimport.runtime.program import Program
from mpiimport.runtime.startup.other_start import NAMES, name_in_library
from mpiimport.runtime.startup.preparing import ASKED, NOW, WORKER
from mpiimport.runtime.store.store import PROGRAM
from mpiimport.snapshot.image.describing import described
from mpiimport.snapshot.image.library import (
    FACTS,
    HEAD,
    HEAD_DIRECTORY,
    IMAGE,
    NEW,
    REACH,
    Entry,
    evict,
    leave_word,
)
from mpiimport.snapshot.image.maker import make
from mpiimport.snapshot.image.python_mpi import command_of, key_of, program_of
from mpiimport.snapshot.memory_map import Refused


def prepare(library: Path, waits: bool, name: str, words: list[str]) -> list[str]:
    """Make the snapshot of a program, put it into a library, and return lines that say what is in it.

    ``waits``: while another process prepares it; ``name``, ``words``: as above. Raises Refused, OSError and Damaged.
    """
    if not os.access(library, os.W_OK | os.X_OK):
        raise Refused(f"{library} is not there, or cannot be written to")
    command, looked_at = command_of(name, words)
    known = key_of(name, command[1:])
    entry = Entry(library / known.program)
    program = Program.parse(program_of(command))
    with entry.locked(waits):
        new = entry.path / f"{NEW}{os.getpid()}"
        new.mkdir(0o700)
        made = make(new / IMAGE, command, files=looked_at, key=known.program)
        lines = described(IMAGE, made)
        head, directory = made.shared
        begin = {HEAD: head.decode(errors="surrogateescape"), HEAD_DIRECTORY: directory}
        entry.describe({FACTS: known.facts, PROGRAM: _named(program), REACH: "\n".join(lines), **begin})
        if head and known.begin:
            # Scripts that are started alike look at how this one begins.
            entry.be_found_by(known.begin, entry.path.name)
        entry.be_found_by(NAMES, name_in_library(program))
        entry.be_found_by(NAMES, known.name)
        entry.publish(new)
        new.rmdir()
    for gone in evict(library, entry):
        lines.append(f"removed, for the library is full: {gone.text(PROGRAM)}")
    return lines


def _named(program: Program) -> str:
    """Return by which name people know it."""
    return program.identity() + (", as multiprocessing spawns it," if program.is_spawned() else "")


def _words(exc: Exception) -> str:
    """Return why nothing is prepared."""
    if not isinstance(exc, OSError) or exc.strerror is None:
        return str(exc) or type(exc).__name__
    words = f"{exc.filename}: {exc.strerror}" if exc.filename else exc.strerror
    if exc.errno in (ENOSPC, EDQUOT):
        words += "; make room, or name another directory: TMPDIR for temporary files, MPIIMPORT_SNAPSHOTS for snapshots"
    return words


def main(library: str, when: str, name: str, *words: str) -> int:
    """Say what came of it, and return the exit status."""
    try:
        # The directory may be seen under another name in a container.
        lines = prepare(Path(library), when == NOW, name, [*words])
    except KeyboardInterrupt:
        return 1
    except Exception as exc:
        if when == WORKER:
            print(f"mpiimport: nothing is prepared of {' '.join(words)}: {_words(exc)}")
        elif when == NOW:
            print(f"mpiimport: nothing is prepared: {_words(exc)}", file=sys.stderr)
        else:
            leave_word(Path(library), os.environ.get(ASKED, ""), _words(exc))
        return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
