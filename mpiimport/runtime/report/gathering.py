"""What all ranks imported, and measured of it, brought to root once, when MPI is about to be finalised.

MPI_Finalize waits for all ranks anyway; nothing is ever gathered before. Where the program has OpenSHMEM,
the end of that waits for all ranks before MPI's does: there root knows of itself alone.
"""

import sys

from .. import os
from ..importing.account import file_of
from ..messages import say
from ..mpi.openshmem import has_been_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..importing.imports import Imports
    from ..mpi.ownership import Ownership
    from ..mpi.transport import Transport
    from .measured import Report

# Bytes of names that root takes from one rank, beyond those that root itself knows, and from all together.
OWN_NAMES, ALL_NAMES = 16 << 10, 64 << 20


class Gathering:
    """One gathering. It is made on every rank, and happens where all of them ``begin``."""

    def __init__(
        self,
        transport: "Transport",
        ownership: "Ownership",
        imports: "Imports",
        report: "Report | None",
        finish: "Callable[[dict[str, int], dict[str, int]], None] | None",
    ) -> None:
        """``report``: where one is asked for, on every rank, gathered along.

        ``finish``, given on root alone, gets the number of ranks by path served and by name missed.
        """
        self._transport = transport
        self._ownership = ownership
        self._imports = imports
        self._report = report
        self._finish = finish
        # Not before it begins.
        self._done = True
        self._pid = os.getpid()
        ownership.before_finalize(lambda: None if has_been_open() else self._run(transport))

    def begin(self) -> None:
        """From here on, take part where MPI is finalised. No rank may do so unless all ranks do."""
        self._done = False

    def run_at_exit(self) -> None:
        """Gather where this process is to finalise MPI. Every other rank comes here too, or its MPI_Finalize does."""
        if self._done or os.getpid() != self._pid:
            return
        if has_been_open():
            self._done = True
            served, missed = self._used(alone=True)
            self._tell(dict.fromkeys(served, 1), dict.fromkeys(missed, 1))
        elif self._ownership.will_finalize():
            self._run(self._transport)

    def _run(self, transport: "Transport") -> None:
        """Gather, once. Collective. Never raises: what could fail is done before the exchanges or after them."""
        if self._done or not self._ownership.active():
            return
        self._done = True
        paths = self._imports.paths()
        measured = self._report.measured(paths) if self._report is not None else None
        served, missed = self._used()
        common = _names(transport.broadcast(_text(missed)))
        flags = [path in served for path in paths] + [name in missed for name in common]
        counts = transport.totals([int(flag) for flag in flags])
        others = _text(missed - set(common))
        _, (longest,) = transport.extremes([len(others)])
        texts = []
        if longest:
            room = min(longest, OWN_NAMES, max(ALL_NAMES // transport.size, 1))
            texts = transport.collect(others if len(others) <= room else others[:room].rpartition(b"\n")[0], room)
        if self._report is not None and measured is not None:
            self._report.gather(transport, paths, measured)
        if counts is None:
            return
        ranks = dict(zip(common, counts[len(paths) :], strict=True))
        for text in texts:
            for name in _names(text):
                ranks[name] = ranks.get(name, 0) + 1
        self._tell(dict(zip(paths, counts, strict=False)), ranks)

    def _used(self, alone: bool = False) -> tuple[set[str], set[str]]:
        try:
            served, missed = self._imports.account.used()
            if alone:
                # What root had imported for itself, others need from the store.
                loaded = {file_of(module) for module in list(sys.modules.values())}
                served |= loaded.intersection(self._imports.paths())
        except Exception:
            return set(), set()
        return served, {name for name in missed if name.isprintable()}

    def _tell(self, served: dict[str, int], missed: dict[str, int]) -> None:
        try:
            if self._finish is not None:
                self._finish(served, missed)
            if self._report is not None:
                self._report.write_gathered()
        except Exception as exc:
            say(f"mpiimport: nothing was learned from this run: {exc!r}")


def _text(names: set[str]) -> bytes:
    return "\n".join(sorted(names)).encode(errors="surrogatepass")


def _names(text: bytes) -> list[str]:
    return text.decode(errors="surrogatepass").split("\n") if text else []
