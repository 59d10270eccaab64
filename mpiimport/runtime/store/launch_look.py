"""What `mpiimport run` has found where it looked, once for all ranks of a job, whether kept stores are still true."""

from .. import os

# Generations of stores, each with HOLDS or CHANGED behind a colon; between commas.
LOOKED_BY_LAUNCH = "MPIIMPORT_LOOKED"
HOLDS, CHANGED = "holds", "changed"


def told_of(generation: str) -> str:
    """Return HOLDS or CHANGED for a store; empty where nobody has looked at that."""
    for entry in os.environ.get(LOOKED_BY_LAUNCH, "").split(","):
        name, _, found = entry.partition(":")
        if name == generation and found in (HOLDS, CHANGED):
            return found
    return ""


def in_one_text(found: dict[str, bool]) -> str:
    """Return the variable's value. ``found``: generation of a store -> whether it is true."""
    return ",".join(f"{name}:{HOLDS if holds else CHANGED}" for name, holds in found.items())
