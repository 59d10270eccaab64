"""The cached stores of all nodes of a job, filled together: root reads once, and each node keeps what it is sent.

It is the start-up that serves a job, up to where the ranks would import: there the stores are published, and all end.
"""

import sys

from .. import os
from ..importing.libraries import mapped_files
from ..messages import say
from ..size import in_words
from ..store.cache_placement import CachePlacement
from ..store.key import NO_NAME, facts_of, key_from, key_of, not_there
from .agreement import Bypassed
from .closed_streams import ClosedStreamsReserved
from .decision import why_not
from .left_behind import began_at
from .mpi_start import load_mpi
from .service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..importing.imports import Imports
    from ..mpi.launcher import Launch
    from ..mpi.ownership import Ownership
    from ..mpi.transport import Transport
    from ..payload.payload import Payload
    from ..report.gathering import Gathering
    from ..store.store import Store
    from .invocation import Invocation


class Publishing(Service):
    """The service of a rank that is to fill a store, and not to run the program.

    ``published``: on root, what comes of it, for people.
    """

    def __init__(self, ownership: "Ownership", invocation: "Invocation", loaded: set[str], mapped: set[str]) -> None:
        """``loaded``: the modules that a process has when it attaches; ``mapped``: what files it has mapped then."""
        super().__init__(ownership, invocation, None)
        self._loaded = loaded
        self._mapped = mapped
        self._placement: CachePlacement = CachePlacement(invocation.options)
        self._key = ""
        self.published = ""

    def read_payload(self, ranks: int, nodes: int, held: bool, room: "Callable[[], int]") -> "Payload":
        """Return what any run of the program will import. Raises Bypassed where there can be no store for it."""
        key = key_of(self._program, self.options, self._before_site)
        reason = not_there(self._program) if key else NO_NAME
        if reason:
            raise Bypassed(reason)
        from ..payload.filling import NoModule, read_for_cache
        from ..payload.mpi_libraries import MpiLibraries

        # A program without an mpi4py of its own does not use the one that we bring.
        mpi = self.ownership.path if self.ownership.of_the_tree else ""
        try:
            payload = read_for_cache(
                self._program,
                self.options,
                self._loaded,
                self._placement.wanted(key),
                self._answers,
                self._before_site,
                nodes,
                room,
                MpiLibraries.mapped_since(self._mapped, mpi, self.options) if mpi else None,
            )
        except NoModule as exc:
            raise Bypassed(str(exc)) from None
        self.published = f"the modules of {self._program.label()} are cached on {nodes} nodes, "
        self.published += f"{in_words(sum(payload.sizes.values()))} on each"
        return payload

    def attach_store(
        self, transport: "Transport", store: "Store", payload: "Payload | None"
    ) -> "tuple[Imports, Gathering]":
        """Check what the store holds, and let later processes attach to it."""
        checked = super().attach_store(transport, store, None)
        facts = facts_of(self._program, self.options, self._before_site)
        self._key = key_from(facts)
        if not self._key:
            raise Bypassed(NO_NAME)
        self._placement.publish(self._key, self._program.identity(), began_at(os.getpid()), facts)
        return checked

    def finish(self, published: bool) -> None:
        """End what was begun. ``published``: all nodes have a store; else none is to have one."""
        if not published and self._key:
            self._placement.withdraw(self._key)
        self.leave()
        self.ownership.finish_at_once(becomes=False)


def publish_now(here: "Launch", invocation: "Invocation") -> None:
    """Keep a store of this program on each node of the job, and end this process. Does not return.

    Where there is no store, root says why, and each process ends with status 1.
    """
    status = 1
    finish = None
    try:
        reason = why_not(here, invocation.options)
        if reason:
            raise Bypassed(reason)
        # Those that attach will not have what MPI needs.
        loaded, mapped = set(sys.modules), mapped_files()
        with ClosedStreamsReserved():
            ownership = load_mpi(invocation.before_site, invocation.options)
            service = Publishing(ownership, invocation, loaded, mapped)
            finish = service.finish
            service.start()
        said, status = service.published, 0
    except Bypassed as exc:
        said = f"no store is kept: {exc}"
    except Exception as exc:
        # There is nothing outside the phases that could fail but MPI itself.
        said = f"no store is kept: {exc!r}"
    if here.rank == 0:
        # Where MPI has been finalised launchers need not read any more.
        say(f"mpiimport: {said}")
    try:
        if finish is not None:
            finish(status == 0)
    finally:
        # The program is not to be run, by whichever entry point this process came.
        os._exit(status)
