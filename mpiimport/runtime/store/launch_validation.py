"""Whether cached stores are valid, as `mpiimport run` has found once for all ranks of a job.

That a store is valid counts only for a process that sees the same file systems, soon after, and whose command stands
on the launcher's line: what comes between may have changed the tree. That a store is stale counts for every process.
"""

import sys

from .. import os, time
from ..digest import digest
from .view import view

# When validation began (whole seconds of the epoch), the view of the process that did it, the digest of the command,
# and generations of stores, each with HOLDS or CHANGED behind a colon, between commas; all of that between slashes.
VALIDATED_BY_LAUNCH = "_MPIIMPORT_STORES_VALIDATED"
HOLDS, CHANGED = "holds", "changed"
# Seconds for which it counts.
FRESH = 30


def answer_of_launch(generation: str) -> str:
    """Return HOLDS or CHANGED for a store; empty where nothing has validated it for this process.

    Raises OSError where this process cannot say what it sees.
    """
    fields = os.environ.get(VALIDATED_BY_LAUNCH, "").split("/")
    if len(fields) != 4:
        return ""
    began, seen, command, entries = fields
    for entry in entries.split(","):
        name, _, found = entry.partition(":")
        if name == generation and found == CHANGED:
            return CHANGED
        if name == generation and found == HOLDS:
            is_soon = began.isdigit() and 0 <= time.time() - int(began) <= FRESH
            return HOLDS if is_soon and (seen, command) == (view().hex(), _digest(sys.orig_argv[1:])) else ""
    return ""


def in_one_text(found: dict[str, bool], command: list[str], began: float) -> str:
    """Return the variable's value. ``found``: generation of a store -> whether it is valid; ``command``: what ranks
    run, less the interpreter; ``began``: when the validation did. Raises OSError.
    """
    entries = ",".join(f"{name}:{HOLDS if holds else CHANGED}" for name, holds in found.items())
    return "/".join([str(int(began)), view().hex(), _digest(command), entries])


def _digest(words: list[str]) -> str:
    return digest("\0".join(words).encode(errors="surrogateescape")).hex()
