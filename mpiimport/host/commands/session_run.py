"""``mpiimport session run``: a command whose processes keep stores of their own on this node, until it ends."""

import os
import secrets
import signal
import sys

from mpiimport.runtime.startup.left_behind import beginning_of, keep_only, leave_behind, wait_for_end
from mpiimport.runtime.store.cache import Cache
from mpiimport.runtime.store.cache_names import of_batch_job
from mpiimport.runtime.store.lock import new_lock, remove, sweep
from mpiimport.runtime.store.no_cache import why_no_place
from mpiimport.runtime.store.parents import refusals

from ..complaint import Complaint
from .becoming import become


def run(command: list[str], parents: list[str], ignored: list[int]) -> int:
    """Become a command, in a session of its own; return only where it cannot be started. Raises Complaint.

    ``parents``: the directories in which stores may lie; ``ignored``: the signals that the command is to ignore, of
    which Python no longer knows whether its caller did.
    """
    session = f"session-{secrets.token_hex(16)}{of_batch_job()}"
    place = _begin(session, parents)
    if place is None:
        why = why_no_place(parents, session)
        print(f"mpiimport: the command runs without a session: {why}", file=sys.stderr)
        return become(command, dict(os.environ), ignored)
    # Nobody can wait for a child otherwise.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _leave_cleaner(place)
    return become(command, {**os.environ, "MPIIMPORT_SESSION": session, "MPIIMPORT_CACHE": "auto"}, ignored)


def _begin(session: str, parents: list[str]) -> Cache | None:
    """Return the place of the session; None where others may rename in the directories. Raises Complaint."""
    # Those whose cleaner was killed, too.
    sweep(parents)
    place = Cache.make(parents, session)
    if place is None and not refusals(parents):
        raise Complaint(f"no stores can be kept: {why_no_place(parents, session)}")
    return place


def _leave_cleaner(place: Cache) -> None:
    """Leave a process behind that removes the place when this process has ended, in whatever way. Raises Complaint.

    It is no child of the command, which may wait for all that it has.
    """
    command = os.getpid()
    ready, tell = os.pipe()
    leave_behind(lambda: _clean_up_after(command, place, tell))
    os.close(tell)
    # Before the place is locked anybody may sweep it.
    if not os.read(ready, 1):
        remove(place.directory)
        raise Complaint(f"no file can be locked in {place.directory}; name another directory with MPIIMPORT_STORE")
    os.close(ready)


def _clean_up_after(command: int, place: Cache, tell: int) -> None:
    lock = new_lock(place.directory)
    began = beginning_of(command)
    os.write(tell, b"1")
    keep_only(lock)
    wait_for_end(command, began)
    remove(place.directory)
