"""What all ranks imported, brought to root once, when MPI is about to be finalised.

MPI_Finalize waits for all ranks anyway; nothing is ever gathered before.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .importing import Imports
    from .ownership import Ownership
    from .transport.mpi import Transport

# Bytes of names that root takes from one rank, beyond those that root itself knows, and from all together.
OWN_NAMES, ALL_NAMES = 16 << 10, 64 << 20


class Gathering:
    """One gathering, made on every rank when its imports are served."""

    def __init__(
        self,
        transport: "Transport",
        ownership: "Ownership",
        imports: "Imports",
        finish: "Callable[[dict[str, int], dict[str, int]], None] | None",
    ) -> None:
        """``finish``, given on root alone, gets the number of ranks by path served and by name missed."""
        self._transport = transport
        self._ownership = ownership
        self._imports = imports
        self._finish = finish
        self._done = False
        self._watch_finalize()

    def run(self) -> None:
        """Gather, once. Collective: every rank comes here from its exit or from its own MPI_Finalize. Never raises."""
        if self._done or not self._ownership.active():
            return
        self._done = True
        try:
            served, missed = self._imports.used()
        except Exception:
            served, missed = set(), set()
        own = sorted(name for name in missed if name.isprintable())
        transport = self._transport
        common = _names(transport.broadcast(_text(own)))
        paths = self._imports.paths()
        flags = [path in served for path in paths] + [name in missed for name in common]
        counts = transport.totals([int(flag) for flag in flags])
        others = _text([name for name in own if name not in set(common)])
        _, (longest,) = transport.extremes([len(others)])
        texts = []
        if longest:
            room = min(longest, OWN_NAMES, max(ALL_NAMES // transport.size, 1))
            texts = transport.collect(others if len(others) <= room else others[:room].rpartition(b"\n")[0], room)
        if self._finish is None or counts is None:
            return
        ranks = dict(zip(common, counts[len(paths) :], strict=True))
        for text in texts:
            for name in _names(text):
                ranks[name] = ranks.get(name, 0) + 1
        try:
            self._finish(dict(zip(paths, counts, strict=False)), ranks)
        except Exception as exc:
            print(f"mpiimport: nothing was learned from this run: {exc!r}", file=sys.stderr, flush=True)

    def _watch_finalize(self) -> None:
        """Come along where the program calls MPI_Finalize: that first deletes what COMM_SELF carries (MPI 11.2.4)."""
        mpi: Any = self._ownership.mpi

        def deleted(communicator: "Any", keyval: int, value: object) -> None:
            self.run()

        keyval = mpi.Comm.Create_keyval(delete_fn=deleted)
        mpi.COMM_SELF.Set_attr(keyval, None)


def _text(names: list[str]) -> bytes:
    return "\n".join(names).encode(errors="surrogatepass")


def _names(text: bytes) -> list[str]:
    return text.decode(errors="surrogatepass").split("\n") if text else []
