"""One validation for all processes of a node that ask at the same time whether a cached store is valid.

It counts for a process only if it began after that process had asked, and in the same view of the file system. So
it tells what the process would have seen by itself.

validated   in a store: when the last validation began that found no change (ns, CLOCK_MONOTONIC), in which view;
            locked by the process that validates (flock(2))
"""

from .. import os, time
from ..digest import DIGEST_SIZE
from .locked_file import LockedFile
from .view import view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import Store

VALIDATED = "validated"
TIME_SIZE = 8


def holds(store: "Store", asked: int, validate: "Callable[[], bool]") -> bool:
    """Return what ``validate`` says; its answer, if that is yes, may be another process's.

    ``asked``: ns by CLOCK_MONOTONIC, when this process began to ask. Raises what ``validate`` raises.
    """
    answer = None
    try:
        own = view()
        with LockedFile(store.path(VALIDATED), os.O_CREAT) as descriptor:
            if _counts(os.pread(descriptor, TIME_SIZE + DIGEST_SIZE, 0), asked, own):
                return True
            began = time.monotonic_ns()
            answer = validate()
            if answer:
                os.pwrite(descriptor, began.to_bytes(TIME_SIZE, "little") + own, 0)
    except OSError:
        # Nothing can be locked or written there, or the process that validates does not come to an end.
        pass
    return validate() if answer is None else answer


def _counts(record: bytes, asked: int, own: bytes) -> bool:
    began = int.from_bytes(record[:TIME_SIZE], "little")
    return record[TIME_SIZE:] == own and asked <= began <= time.monotonic_ns()
