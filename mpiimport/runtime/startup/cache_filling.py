"""Filling the cached store of a program: at once, where a person asks, or by a process that a task leaves behind."""

import sys

from .. import os, time
from ..file_systems import IMAGE_FILE, IMAGE_LAYERS, image_on
from ..messages import say
from ..options import asked_at
from ..store.cache import LEASE, Cache
from ..store.key import FIRST_PROCESS, NO_NAME, NONE_YET, not_there
from .left_behind import began_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .invocation import Invocation

# The first process of a PID namespace: what others leave behind would become a child of the program's.
INIT = 1
THREADS = "/proc/self/task"
# Seconds within which a program has imported, or has ended: so long its filler stays away from its processors.
STARTING = 3
# Seconds between two looks at whether another has filled it.
LOOK_AGAIN = 0.05


class NotFilled(Exception):
    """The store is not filled; the message says why, and what to do."""


class Filling:
    """The filling of one program's store: ``key`` is its name in ``cache``."""

    def __init__(self, cache: Cache, key: str, invocation: "Invocation") -> None:
        self.cache = cache
        self.key = key
        self._invocation = invocation
        # What comes of a process that this one leaves behind is as old as what this one sees.
        self._began = began_at(os.getpid())

    def fill(self) -> None:
        """Fill the store. Raises what reading may raise, and Unsettled."""
        # Before root's own modules need more, which those that come later have not.
        loaded = set(sys.modules)
        from ..payload.filling import fill
        from ..store.nearest import write_facts

        self.cache.expire(LEASE)
        asked = self._invocation
        fill(self.cache, self.key, asked.program, asked.options, loaded, asked.answers, asked.before_site, self._began)
        write_facts(self.cache.target(self.key), asked.facts())

    def leave_filler(self) -> str:
        """Leave a process behind that fills the store, unless one does; return why there is none yet, or will be none.

        One that ``sitecustomize`` has given threads is not to be forked.
        """
        from ..payload.stamps import Mounts
        from .left_behind import beginning_of, end_first, give_way, keep_only, leave_behind, let_go, wait_for_end

        doubt = Mounts(self._invocation.options.cache_on).doubt(sys.prefix, os.stat(sys.prefix).st_dev)
        if doubt:
            return doubt
        if os.getpid() == INIT:
            return FIRST_PROCESS
        self.cache.complete()
        filling = self.cache.begin_filling(self.key) if len(os.listdir(THREADS)) == 1 else None
        if filling is None:
            return NONE_YET
        starter = os.getpid()

        def work() -> None:
            keep_only(filling)
            let_go()
            end_first()
            # Some seconds after its first process has ended, a container loses an image that FUSE has mounted. Until
            # then it can be read, and no longer.
            if image_on() != IMAGE_FILE:
                give_way()
            # A container of podman's or docker's ends with its first process, and ends this one.
            if image_on() not in (IMAGE_FILE, IMAGE_LAYERS):
                wait_for_end(starter, beginning_of(starter), STARTING)
            self.fill()

        leave_behind(work)
        os.close(filling)
        return NONE_YET

    def fill_or_wait(self, since: int, seconds: int) -> bool:
        """Fill the store, or wait for another process that does, another rank say; tell whether there is one then.

        ``since``: what a process has filled that began earlier is not taken; 0 where that is not known.
        """
        deadline = time.monotonic() + seconds
        waited = False
        while (filling := self.cache.begin_filling(self.key, rest=0)) is None:
            if time.monotonic() > deadline:
                return False
            waited = True
            time.sleep(LOOK_AGAIN)
        try:
            if not ((waited or since) and self.cache.has(self.key, since)):
                self.fill()
        finally:
            os.close(filling)
        return True


def fill_now(invocation: "Invocation") -> None:
    """Fill the store for this program, and end this process. Does not return."""
    end_after(lambda: _fill_here(invocation), "no store is kept: ")


def end_after(work: "Callable[[], None]", failed: str = "") -> None:
    """Do the work, and end this process, with status 1 and a line that begins so where it fails. Does not return."""
    status = 0
    try:
        work()
    except Exception as exc:
        say(f"mpiimport: {failed}{exc or type(exc).__name__}")
        status = 1
    # The program is not to be run, by whichever entry point this process came.
    os._exit(status)


def _fill_here(invocation: "Invocation") -> None:
    key, options = invocation.key(), invocation.options
    reason = not_there(invocation.program) if key else NO_NAME
    if reason:
        raise NotFilled(reason)
    cache = Cache.found_or_made(options.store_places(), options.session)
    store = Filling(cache, key, invocation)
    if not store.fill_or_wait(asked_at(), options.deadline):
        raise NotFilled("another process has been filling it, and has not come to an end; look for that")
