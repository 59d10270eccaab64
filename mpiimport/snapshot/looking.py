"""A look at a warm image for `mpiimport session status` and `refresh`: would its program start from it here and now?

    looking.py ASKED STORE PYTHON OPTIONS... PROGRAM [ARGUMENTS]

ASKED is when the look began (ns, CLOCK_MONOTONIC); the others are as for publishing.py.
"""

import sys
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGES))

from mpiimport.runtime.store.origin import write_found  # noqa: E402
from mpiimport.snapshot.door import command_of, program_of  # noqa: E402
from mpiimport.snapshot.fitting import why_not_started  # noqa: E402

# In front of a path, in what the starter says.
CHANGED = "this has changed since, or cannot be opened: "


def look(asked: str, store: str, python: str, *words: str) -> None:
    """Leave word in a store of what the starter says of its image. Raises what that may raise."""
    command, _ = command_of(python, list(words))
    why = why_not_started(Path(store), program_of(command))
    before, said, path = why.partition(CHANGED)
    write_found(store, int(asked), f"{path} has changed since" if said and not before else why)


if __name__ == "__main__":
    look(*sys.argv[1:])
