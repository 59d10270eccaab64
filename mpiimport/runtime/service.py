"""The start-up of the delegated-import service: a few phases, each ended by an agreement of all ranks.

A phase that fails on one rank fails on all, before any data moves further, and the job goes on as plain Python.
"""

import sys

from .account import Account
from .clock import BROADCAST, HANDSHAKE, INIT, READ, STORE, phases
from .deadline import run_before_deadline
from .gathering import Gathering
from .handshake import differing, own_facts
from .importing import Imports
from .index import Index
from .libraries import bind_functions
from .messages import say
from .ownership import Ownership
from .placement import Placement
from .private_mpi import NoMpi
from .streaming import share_sizes, stream
from .transport.mpi import Transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .answers import Answers
    from .options import Options
    from .program import Program
    from .report import Report
    from .root.document import Value
    from .root.snapshot import Snapshot
    from .store import Store

# Longest text, in bytes, that the rank where a phase failed sends to root.
REASON = 300


class SteppedAside(Exception):
    """The service does not start; the message says why. The job runs as plain Python."""


class Service:
    """The one service of a process.

    ``ownership``: the MPI it initialised, None before that; ``imports``: set once the store serves.
    """

    def __init__(
        self, options: "Options", program: "Program", answers: "Answers", before_site: bool, report: "Report | None"
    ) -> None:
        """``report``: to be told what the start-up did."""
        self.options = options
        self.ownership: Ownership | None = None
        self.imports: Imports | None = None
        self.rank = 0
        self._report = report
        self._program = program
        self._answers = answers
        self._before_site = before_site
        self._loaded: set[str] = set()
        self._transport: Transport | None = None
        self._snapshot: Snapshot | None = None
        self._placement: Placement | None = None
        self._sizes: dict[str, int] = {}
        self._leaders: Transport | None = None
        self._facts: dict[str, int] = {}
        self._attached: Imports | None = None
        self._gathering: Gathering | None = None

    def start(self) -> None:
        """Run the phases on every rank. Raises SteppedAside on every rank, or on none."""
        try:
            run_before_deadline(self.options.deadline, self._take_part)
        except BaseException:
            self.leave()
            raise

    def _take_part(self) -> None:
        """Run the phases, and end what they began of MPI where all ranks have come to the same end."""
        try:
            self._run_phases()
        except SteppedAside:
            self._end_startup(gathers=False)
            raise
        self._end_startup(gathers=True)
        self._serve()
        if self._report is not None:
            self._report.write_startup()

    def _end_startup(self, gathers: bool) -> None:
        """Leave MPI to the program. The communicator stays where it is to gather, which no session outlives."""
        if self.ownership is None:
            return
        if self._transport is not None and not (gathers and self.ownership.session is None):
            self._transport.free()
            self._transport = None
        self.ownership.end_startup()

    def _serve(self) -> None:
        """Import from the store from now on, and gather at the end what was imported."""
        assert self.ownership is not None
        self.imports = self._attached
        if self.imports is not None:
            self.imports.install()
            bind_functions(self.options.binding)
            finish = self._learn if self._snapshot else None
            if self._report is not None:
                self._report.measure(self.imports)
            self._gathering = Gathering(self._transport, self.ownership, self.imports, self._report, finish)

    def _run_phases(self) -> None:
        """Alternate work, which is local and may fail, with exchanges, which are collective and hold no work."""
        self._phase("init", INIT, self.init_mpi)
        self._phase("handshake", HANDSHAKE, self.state_facts)
        self._compare_facts()
        transport = self._over_world()
        placement = self._placement = Placement(self.options, self.rank)
        placement.find_neighbours(transport)
        self._phase("survey", STORE, placement.survey_node)
        placement.share_room(transport)
        self._phase("read", READ, self.read_tree)
        self._sizes = share_sizes(transport, self._snapshot.sizes if self._snapshot else {})
        self._phase("reserve", STORE, lambda: placement.reserve_store(self._sizes))
        placement.share_place()
        self._phase("join", STORE, lambda: placement.join_store(self._sizes))
        self._leaders = transport.among(placement.leading)
        self._phase("broadcast", BROADCAST, self.broadcast_snapshot)
        self._phase("attach", STORE, self.attach_store)

    def gather(self) -> None:
        """At exit, bring what all ranks imported to root, unless MPI is not to be finalised here. Collective."""
        if self._gathering is not None:
            self._gathering.run_at_exit()

    def leave(self) -> None:
        """Stop using the store."""
        if self._placement is not None:
            self._placement.leave()

    def _learn(self, served: dict[str, int], missed: dict[str, int]) -> None:
        """On root, save what was imported for the next run, and say what this one missed where that was asked for."""
        assert self._snapshot is not None
        misses = self._snapshot.learning.finish(served, missed)
        self._state(
            modules_served=sum(1 for ranks in served.values() if ranks),
            missed=[{"name": miss.name, "ranks": miss.ranks, "why": miss.why} for miss in misses],
        )
        for miss in misses if self.options.verbose else ():
            say(f"mpiimport: missed {miss.name} on {miss.ranks} ranks: {miss.why}")

    def _state(self, **facts: "Value") -> None:
        """Put facts into the report, where one is asked for."""
        if self._report is not None:
            self._report.facts.update(facts)

    def init_mpi(self) -> None:
        """Initialise MPI and make a communicator of our own."""
        self._loaded = set(sys.modules)
        try:
            self.ownership = Ownership(self._before_site, self.options.preload)
            self._loaded |= set(sys.modules)
            self.ownership.start(self.options.init, self.options.thread_level)
            self.ownership.supports()
        except NoMpi as exc:
            raise SteppedAside(str(exc)) from None
        mpi, session = self.ownership.mpi, self.ownership.session
        self._transport = Transport.over_session(mpi, session) if session else Transport.over_world(mpi)
        self.rank = self._transport.rank

    def state_facts(self) -> None:
        """State what must be the same on all ranks."""
        self._facts = own_facts(self.options, self._program, self._before_site)
        self._facts["MPMD program"] = self._over_world().program()

    def _compare_facts(self) -> None:
        transport = self._over_world()
        if transport.size == 1:
            raise SteppedAside("the job has one rank, so nobody to share the reading with")
        self._state(ranks=transport.size)
        different = differing(transport, self._facts)
        if different:
            raise SteppedAside(f"the ranks differ in their {', '.join(different)}")

    def read_tree(self) -> None:
        """On root, read what the program will import."""
        if self.rank:
            return
        assert self._placement is not None
        from .root.snapshot import take_snapshot

        if self._before_site:
            self._answers.record_site()
        self._snapshot = take_snapshot(
            self._program,
            self.options,
            self._loaded,
            self._answers,
            one_node=self._placement.one_node,
            room=self._placement.room,
        )
        for complaint in self._snapshot.complaints:
            say(f"mpiimport: {complaint}")

    def broadcast_snapshot(self) -> None:
        """Send the files of the store from root to the rank that leads each store. Collective, and agreed upon."""
        leaders, store = self._leaders, self._placed()
        if leaders is None:
            return
        total = sum(self._sizes.values())
        fill = self._snapshot.fill if self._snapshot else None
        try:
            copies = stream(leaders, self._sizes, store, fill, self.options.broadcast)
        finally:
            leaders.free()
        self._state(copies=copies, bytes_stored=total, bytes_broadcast=total if leaders.size > 1 else 0)
        if self._snapshot is not None:
            self._state(root_read=self._snapshot.effort())

    def attach_store(self) -> None:
        """On every rank, check what the store holds and start to import from it."""
        store = self._placed()
        assert self.ownership is not None
        index = Index.unpack(store.read_index())
        store.open_code()
        self._state(modules_stored=len(index.code) + len(index.needs))
        uncached = self._snapshot.uncached if self._snapshot else frozenset()
        self._attached = Imports(
            index,
            store,
            self.ownership,
            self._answers,
            uncached,
            Account(set(sys.modules), self.rank, self.options.verbose),
        )

    def _phase(self, name: str, counted_as: str, work: "Callable[[], None]") -> None:
        """Do a phase's work and agree on its outcome. Raises SteppedAside on every rank where it failed on one.

        ``counted_as``: the one of ``clock.PHASES`` to which the time from here to the next phase belongs.
        """
        phases.begin(counted_as)
        reason = ""
        try:
            work()
        except SteppedAside as exc:
            reason = str(exc)
        except Exception as exc:
            reason = f"{name} failed on rank {self.rank}: {exc or type(exc).__name__}"
        if self._transport is None:
            if reason:
                raise SteppedAside(reason)
            return
        failed = self._transport.rank if reason else self._transport.size
        (first,), _ = self._transport.extremes([failed])
        if first < self._transport.size:
            text = self._transport.broadcast(reason.encode()[:REASON], first)
            raise SteppedAside(text.decode(errors="replace"))

    def _over_world(self) -> Transport:
        assert self._transport is not None
        return self._transport

    def _placed(self) -> "Store":
        assert self._placement is not None and self._placement.store is not None
        return self._placement.store
