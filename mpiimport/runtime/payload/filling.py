"""Filling a cached store: what one process of a program would import, read by a process that does not run it."""

import sys

from .. import os, time
from ..clock import SECOND
from ..program import MODULE
from ..store.broadcast import Cargo
from .learning import Learning
from .payload import entries_for, read_payload
from .read_ahead import read_ahead
from .rehearsal import DISTUTILS, Rehearsal
from .stamps import JustChanged, check_settled
from .tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..importing.site_answers import Answers
    from ..options import Options
    from ..program import Program
    from ..store.cache import Cache
    from .mpi_libraries import MpiLibraries
    from .payload import Payload

# The finders of every Python; others may find a module where there is no file of it.
FINDERS = 3


class NoModule(Exception):
    """The program is a module that is not there."""


def fill(
    cache: "Cache",
    key: str,
    program: "Program",
    options: "Options",
    loaded: set[str],
    answers: "Answers",
    before_site: bool,
    began: int,
) -> None:
    """Read what ``program`` will import, and publish a store of it under ``key``.

    ``loaded``: the modules that each process has already when it attaches; ``began``: as for ``Cache.publish``. Raises
    what reading, and a file system, may raise; NoRoom; NoModule; and Unsettled. Nothing is left of the store then.
    """
    wanted = cache.take_wanted(key)
    payload = read_for_cache(
        program, options, loaded, wanted, answers, before_site, room=lambda: cache.room(options.store_size)
    )
    store = cache.create(payload.sizes, options)
    try:
        Cargo(payload.sizes, store, read_ahead(payload.sizes, payload.fill)).fill()
        cache.publish(key, store, program.identity(), began)
    finally:
        store.leave()


def read_for_cache(
    program: "Program",
    options: "Options",
    loaded: set[str],
    wanted: set[str],
    answers: "Answers",
    before_site: bool,
    nodes: int = 1,
    room: "Callable[[], int] | None" = None,
    mpi: "MpiLibraries | None" = None,
) -> "Payload":
    """Read what a store of ``program`` is to hold. Raises what reading may raise, NoModule, and Unsettled.

    ``loaded``: as for ``fill``; ``wanted``: modules that processes of the program have missed; ``nodes``: how many get
    the store; ``room``: tells the bytes that each of them has for it; ``mpi``: what is to be in it of MPI.
    """
    waits = options.fill
    while True:
        began = time.time_ns()
        with Rehearsal(answers, before_site) as site:
            learning = Learning.of(program, options.manifests)
            if wanted:
                learning.known.imported |= wanted
                learning.add(wanted)
            if _is_missing(program, site):
                raise NoModule(f"no module {program.target} is found; name a program that runs")
            payload = read_payload(program, options, learning, loaded, answers, nodes, room, site, cached=True, mpi=mpi)
        try:
            check_settled(payload.dependencies, began, options.cache_on)
            return payload
        except JustChanged as exc:
            # Whoever asks for a store rather waits than asks again.
            if not waits:
                raise
            waits = False
            time.sleep(exc.rest / SECOND)


def _is_missing(program: "Program", site: Rehearsal) -> bool:
    """Tell whether the program is a module that nothing can find; False where that is not known."""
    finders = [finder for finder in sys.meta_path if type(finder).__module__ != DISTUTILS]
    if program.kind != MODULE or len(finders) > FINDERS or site.brings_finders:
        return False
    entries = entries_for(program)
    tree = Tree(entries)
    tree.mapped, tree.namespaces = site.mapped, site.namespaces
    return tree.find(program.target) is None and not any(map(os.path.isfile, entries))
