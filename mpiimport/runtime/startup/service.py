"""The start-up of the delegated-import service: a few phases of work, each ended by an agreement of all ranks.

A phase that fails on one rank fails on all, before any data moves further, and the job goes on as plain Python. What is
exchanged between two phases is ready when the first ends, and looked at when the second has begun: so nothing but MPI
itself can fail there. Nor can what MPI is started with be agreed upon: the deadline ends a job that is stuck in it.
"""

import sys

from .. import time
from ..clock import BROADCAST, HANDSHAKE, READ, STORE
from ..importing.account import Account
from ..importing.imports import Imports
from ..importing.libraries import bind_functions
from ..messages import say
from ..mpi.transport import Transport
from ..option_table import ALL
from ..report.gathering import Gathering
from ..report.job_notes import notes
from ..store.broadcast import Cargo, pack_sizes, unpack_sizes
from ..store.index import attach
from ..store.placement import Placement
from .agreement import Agreement, Bypassed, alone
from .deadline import run_before_deadline
from .decision import SERVED_AT_ONCE, learned_first, nothing_gained, own_file_system
from .handshake import differing, own_facts
from .left_open import LeftOpen
from .mpi_start import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..mpi.ownership import Ownership
    from ..payload.payload import Payload
    from ..payload.recording import Recording
    from ..report.measured import Report
    from ..store.store import Store
    from .invocation import Invocation

# Seconds that a rank that has failed gives the others, to fail too.
MOMENT = 3


class Service:
    """The one service of a process.

    ``ownership``: the MPI that it starts; ``serves``: the store answers imports; ``left_open``: the files of the
    program, to begin with that; ``recording``: on root, of a first run that is only learned from.
    """

    def __init__(self, ownership: "Ownership", invocation: "Invocation", report: "Report | None") -> None:
        """``report``: gets what the start-up did."""
        self.ownership = ownership
        self.options = invocation.options
        self.serves = False
        self.recording: Recording | None = None
        self.left_open = LeftOpen()
        self._report = report
        self._facts = report.facts if report is not None else {}
        self._program = invocation.program
        self._answers = invocation.answers
        self._before_site = invocation.before_site
        self._placement = Placement(self.options)
        # Seconds that the start-up may take.
        self._deadline = self.options.deadline
        # Until the phases have come to their end.
        self._gather: Callable[[], None] = lambda: None
        self._all_fail: Callable[[float], bool] = _wait_alone

    def start(self) -> None:
        """Run the phases on every rank. Raises Bypassed on every rank, or on none.

        Where the program is not to run, the store is filled, and nothing imports from it.
        """
        try:
            run_before_deadline(self._deadline, self._take_part)
        except BaseException:
            self.leave()
            raise

    def write_out(self) -> None:
        """At exit, where this rank is to wait for others, make the files complete that the program has left open."""
        if self.ownership.will_finalize() or self.ownership.aborts():
            self.left_open.write_out()

    def gather(self) -> None:
        """At exit, bring what all ranks imported to root, unless MPI is not to be finalised here. Collective."""
        self._gather()

    def leave(self) -> None:
        """Stop using the store."""
        self._placement.leave()

    def wait_for_failures(self) -> None:
        """At the exit of a rank that has failed, let the others say why they fail, for a moment.

        Where all ranks do, none has to end the job for the others. Else this one is about to, by which launchers kill:
        nothing is to be left by those that have not failed. Where the program wants it, nobody waits. Never raises.
        """
        if not self.ownership.aborts():
            return
        self._placement.discard()
        try:
            if not self.ownership.is_told_to_abort and self._all_fail(MOMENT):
                self.ownership.end_without_abort()
        except BaseException:
            pass  # As of a signal: the moment is over.

    def _take_part(self) -> None:
        """Run the phases, and end what they began of MPI where all ranks have come to the same end."""
        transport = self.init_mpi()
        try:
            imports, gathering = self._run_phases(transport)
        except Bypassed:
            self._end_startup(transport)
            raise
        if self.options.fill:
            self._end_startup(transport)
            return
        gathering.begin()
        self._gather = gathering.run_at_exit
        self._end_startup(transport)
        alone(transport.rank, self.serve, imports)

    def _end_startup(self, transport: Transport) -> None:
        """Free what the phases were agreed upon by, but for what gathers, and tells at the end whether all fail."""
        transport.free_parts()
        self._all_fail = transport.all_fail
        alone(transport.rank, self.ownership.end_startup)

    def _run_phases(self, transport: Transport) -> tuple[Imports, Gathering]:
        """Alternate work, which is local and may fail, with bare exchanges, which are collective and hold no work."""
        phase = Agreement(transport).phase
        facts, values = phase("handshake", HANDSHAKE, self.state_facts, transport)
        extremes = transport.extremes(values)
        neighbours = transport.neighbours()
        room, first = phase("survey", STORE, self.survey_node, transport, neighbours, facts, extremes)
        rooms = transport.extremes(room)
        nodes = transport.totals(first)
        payload, listed = phase("read", READ, self.read_tree, transport, nodes, rooms)
        listed = transport.broadcast(listed)
        sizes, own, place = phase("reserve", STORE, self.reserve_store, neighbours, listed)
        place = neighbours.broadcast(place)
        store, leads = phase("join", STORE, self.join_store, own, place, sizes)
        leaders = transport.among(leads)
        cargo = phase("load", BROADCAST, self.load_cargo, leaders, store, sizes, payload)
        copies = cargo.travel(leaders)
        phase("broadcast", BROADCAST, self.end_broadcast, leaders, cargo, copies, payload)
        return phase("attach", STORE, self.attach_store, transport, store, payload)

    def init_mpi(self) -> Transport:
        """Initialise MPI. Return what to communicate by.

        Raises Bypassed. No agreement is possible here: ranks that come further wait for one that does not.
        """
        return start(self.ownership, self.options, self._program)

    def state_facts(self, transport: Transport) -> tuple[dict[str, int], list[int]]:
        """State what must be the same on all ranks, and as numbers alone."""
        if transport.size == 1:
            raise Bypassed("the job has one rank, so nobody to share the reading with")
        self._facts.update(ranks=transport.size)
        facts = own_facts(self.options, self._program, self._before_site)
        facts["MPMD program"] = transport.program()
        return facts, list(facts.values())

    def survey_node(
        self, transport: Transport, neighbours: Transport, facts: dict[str, int], extremes: tuple[list[int], list[int]]
    ) -> tuple[list[int], list[int]]:
        """Where the facts agree, see what room this rank's node has for a store, and whether it holds the tree itself.

        Each node is counted once.
        """
        different = differing(facts, *extremes)
        if different:
            raise Bypassed(f"the ranks differ in their {', '.join(different)}")
        first = neighbours.rank == 0
        return [self._placement.survey(first, transport.rank), bool(own_file_system())], [int(first)]

    def read_tree(
        self, transport: Transport, nodes: list[int] | None, rooms: tuple[list[int], list[int]]
    ) -> "tuple[Payload | None, bytes]":
        """On root, which alone gets the number of nodes, read what the program will import.

        Return that, and the files of a store for it.
        """
        if nodes is None:
            return None, b""
        (least, held), _ = rooms
        payload = self.read_payload(transport.size, nodes[0], bool(held), room=lambda: self._placement.room(least))
        for complaint in payload.complaints:
            say(f"mpiimport: {complaint}")
        return payload, pack_sizes(payload.sizes)

    def read_payload(self, ranks: int, nodes: int, held: bool, room: "Callable[[], int]") -> "Payload":
        """Return what this run of the program will import. Raises Bypassed where serving it gains nothing.

        ``held``: each node holds the tree itself; ``room``: returns the bytes that a store may take on every node.
        """
        if nodes == 1 and held and self.options.switch != "force":
            raise Bypassed(nothing_gained(own_file_system()))
        loaded = set(sys.modules)
        from ..payload.learning import Learning
        from ..payload.rehearsal import Rehearsal

        # What is known of a program goes by sys.prefix, which site sets.
        with Rehearsal(self._answers, self._before_site) as site:
            learning = Learning.of(self._program, self.options.manifests)
            if ranks < SERVED_AT_ONCE and self.options.switch != "force" and learning.begin():
                from ..payload.module_code import hide_modules
                from ..payload.recording import Recording

                self.recording = Recording(learning.add)
                hide_modules(loaded)
                raise Bypassed(learned_first(ranks))
            from ..payload.payload import read_payload

            return read_payload(self._program, self.options, learning, loaded, self._answers, nodes, room, site)

    def reserve_store(self, neighbours: Transport, listed: bytes) -> "tuple[dict[str, int], Store | None, bytes]":
        """Return the sizes of the files of the store and, on the first rank of a node, the store and where that is."""
        sizes = unpack_sizes(listed)
        return sizes, *self._placement.reserve(neighbours.rank == 0, sizes)

    def join_store(self, own: "Store | None", place: bytes, sizes: dict[str, int]) -> "tuple[Store, bool]":
        """Return this rank's store, and whether root is to send the payload to this rank."""
        return self._placement.join(own, place, sizes)

    def load_cargo(
        self, leaders: Transport | None, store: "Store", sizes: dict[str, int], payload: "Payload | None"
    ) -> Cargo:
        """Make ready for the files of the store, on the ranks that lead one."""
        sizes = sizes if leaders else {}
        if payload is None:
            return Cargo(sizes, store)
        from ..payload.read_ahead import read_ahead

        return Cargo(sizes, store, read_ahead(sizes, payload.fill))

    def end_broadcast(
        self, leaders: Transport | None, cargo: Cargo, copies: int | None, payload: "Payload | None"
    ) -> None:
        """See whether all of it has come."""
        cargo.check()
        if leaders is not None and payload is not None:
            total = sum(payload.sizes.values())
            self._facts.update(copies=copies, bytes_stored=total, bytes_broadcast=total if leaders.size > 1 else 0)
            self._facts.update(root_read=payload.effort())

    def attach_store(
        self, transport: Transport, store: "Store", payload: "Payload | None"
    ) -> tuple[Imports, Gathering]:
        """Check what the store holds, and make ready to import from it and to gather at the end what was imported."""
        index, _ = attach(store)
        self._facts.update(modules_stored=len(index.code) + len(index.needs))
        uncached = payload.uncached if payload else frozenset()
        account = Account(set(sys.modules), transport.rank, self.options.verbose)
        imports = Imports(index, store, self.ownership, self._answers, uncached, account)
        finish = (lambda served, missed: self._learn(payload, imports, served, missed)) if payload else None
        return imports, Gathering(transport, self.ownership, imports, self._report, finish)

    def serve(self, imports: Imports) -> None:
        """Import from the store from now on."""
        imports.install()
        self.serves = True
        bind_functions(self.options.binding)
        if self._report is not None:
            self._report.measure(imports)
            self._report.write_startup()

    def _learn(self, payload: "Payload", imports: Imports, served: dict[str, int], missed: dict[str, int]) -> None:
        """On root, save what was imported for the next run, and say what this one missed where that was asked for."""
        misses = payload.learning.finish(served, missed)
        if self.options.serve != ALL:
            # All modules are.
            misses = []
        notes.tell_modules(sum(map(bool, served.values())), len(missed))
        imports.leave_pycs([path for path in payload.uncached if served.get(path)])
        self._facts.update(
            modules_served=sum(1 for ranks in served.values() if ranks),
            missed=[{"name": miss.name, "ranks": miss.ranks, "why": miss.why} for miss in misses],
        )
        for miss in misses if self.options.verbose else ():
            say(f"mpiimport: missed {miss.name} on {miss.ranks} ranks: {miss.why}")


def _wait_alone(seconds: float) -> bool:
    """Where ranks cannot ask each other whether all of them fail, let them have their time."""
    time.sleep(seconds)
    return False
