"""What a process asks before it believes a kept store: whether each path that the store speaks of is as it was."""

from .. import os
from ..listing import witness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..listing import Witness
    from ..store.index import Index

SECOND = 10**9
# Nanoseconds for which a path must have been left alone: file systems round times, and clocks differ a little.
SETTLED = 2 * SECOND


class Unsettled(Exception):
    """Something changed while it was read, or just before: the message names it."""


def witnesses_of(index: "Index") -> "dict[str, Witness | None]":
    """Return what each path is like from which an index was made."""
    metadata = [os.path.join(directory, name) for directory, files in index.metadata.items() for name in files]
    asked = [path for _, path in index.answers]
    paths = [*index.listings, *index.absent, *index.code, *index.needs, *index.libraries, *metadata, *asked]
    return {path: witness(path) for path in dict.fromkeys(paths)}


def check_settled(witnesses: "dict[str, Witness | None]", began: int) -> None:
    """Raise Unsettled where a path has changed since ``began`` (ns), or so shortly before that it may change unseen."""
    for path, found in witnesses.items():
        if found is not None and max(found[:2]) > began - SETTLED:
            raise Unsettled(f"{path} has just changed")
