"""What moves between ranks, over OpenSHMEM: behind the interface of the transport over MPI.

OpenSHMEM 1.4 has no teams. So ranks that share a node, or lead one, are lists of PEs here, with trees of their own.
"""

import operator

from ..mpi.transport import Transport, pack, unpack
from .calls import Memory
from .lanes import (
    BUFFERS_DOWN,
    BUFFERS_UP,
    FANOUT,
    WORDS_DOWN,
    WORDS_UP,
    Downward,
    Upward,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Library

# Of all ranks, of those of a node, of leaders; each of them once.
PARTS = 3
# Of each part: numbers, and messages.
WORDS = WORDS_UP + WORDS_DOWN
BUFFERS = BUFFERS_UP + BUFFERS_DOWN
# Bits of a number that tells which ranks are members.
BITS = 62


class ShmemTransport(Transport):
    """The ranks of a list of PEs, in its order. It ends with the start-up, for the symmetric heap is the program's."""

    lasts = False

    def __init__(self, library: "Library", members: list[int], memory: Memory | None) -> None:
        """``memory``: what all PEs have made; None to make it. Raises NoShmem. Collective over all PEs."""
        self._library = library
        self._members = members
        self._is_whole = memory is None
        self.size = len(members)
        pe = library.call("my_pe")
        self.rank = members.index(pe) if pe in members else -1
        self._memory = Memory(library, PARTS * WORDS, PARTS * BUFFERS) if memory is None else memory
        self._up = Upward(library, self._memory, (self.rank - 1) % FANOUT)
        self._down = Downward(library, self._memory)
        # One of those that are no members has no part in it but the places.
        if self.rank >= 0:
            self._up.join(self.rank, members)
            self._down.join(self.rank, members)

    @classmethod
    def over_all(cls, library: "Library") -> "ShmemTransport":
        return cls(library, list(range(library.call("n_pes"))), None)

    def program(self) -> int:
        """OpenSHMEM has one program in a launch."""
        return 0

    def neighbours(self) -> "ShmemTransport":
        near = [pe for pe in self._members if self._library.call("ptr", self._memory.start, pe)]
        return ShmemTransport(self._library, near, self._memory)

    def among(self, member: bool) -> "ShmemTransport | None":
        bits = [0] * -(-self.size // BITS)
        bits[self.rank // BITS] = int(member) << self.rank % BITS
        bits = self._all(bits, operator.or_)
        members = [pe for rank, pe in enumerate(self._members) if bits[rank // BITS] >> rank % BITS & 1]
        part = ShmemTransport(self._library, members, self._memory)
        return part if member else None

    def extremes(self, values: list[int]) -> tuple[list[int], list[int]]:
        found = self._all([*values, *(-value for value in values)], max)
        return [-value for value in found[len(values) :]], found[: len(values)]

    def totals(self, values: list[int]) -> list[int] | None:
        # Truth values among them count.
        found = self._up.combine([int(value) for value in values], operator.add)
        return found if self.rank == 0 else None

    def broadcast(self, data: bytes, root: int = 0) -> bytes:
        if root:
            # Along the tree everything comes from rank 0. Where another rank has it, nobody else has anything to add.
            (length,) = self._all([len(data) if self.rank == root else 0], operator.add)
            padded = (data if self.rank == root else b"").ljust(-(-length // 8) * 8, b"\0")
            return pack(self._all(unpack(padded), operator.or_))[:length]
        told = bytearray(pack([len(data)]))
        self._down.bring(memoryview(told))
        buffer = bytearray(data if self.rank == 0 else unpack(told)[0])
        self._down.bring(memoryview(buffer))
        return bytes(buffer)

    def broadcast_into(self, buffer: memoryview, root: int = 0) -> None:
        self._down.bring(buffer)

    def free(self) -> None:
        """Give the program its symmetric heap. Collective over all PEs."""
        if self._is_whole:
            self._memory.free()

    def _all(self, values: list[int], by: "Callable[[int, int], int]") -> list[int]:
        """Return, on every rank, the values of all, combined one by one."""
        found = bytearray(pack(self._up.combine(values, by)))
        self._down.bring(memoryview(found))
        return unpack(found)
