"""Messages along a tree of PEs: bytes down from root, numbers up to it, by puts and flags in symmetric memory.

What is put comes before its flag, with a fence between (OpenSHMEM 1.4, 9.10).
"""

from ..mpi.transport import pack, unpack, wait_until
from .calls import WORD, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Library, Memory

# Bytes of a chunk: enough for bandwidth.
CHUNK = 1 << 20
# Numbers that go up at a time, and children of a PE in a tree.
NUMBERS, FANOUT = 64, 4
# Bytes that each kind of lane takes of a memory.
WORDS_DOWN, BUFFERS_DOWN = 3 * lines(WORD), 2 * CHUNK
WORDS_UP, BUFFERS_UP = lines(WORD) + lines(FANOUT * WORD), lines((FANOUT + 1) * NUMBERS * WORD)


class _Lane:
    """A lane without neighbours until it has members, which are the ranks of a tree of FANOUT."""

    def __init__(self, library: "Library", memory: "Memory") -> None:
        self._library = library
        self._memory = memory
        self._parent: int | None = None
        self._children: list[int] = []

    def join(self, rank: int, members: list[int]) -> None:
        """Be this rank of ``members``, which are PEs, in a tree that is filled level by level."""
        self._parent = members[(rank - 1) // FANOUT] if rank else None
        self._children = members[rank * FANOUT + 1 : (rank + 1) * FANOUT + 1]

    def _wait(self, place: int, at_least: int) -> None:
        """Wait until a number of this PE's memory has grown so far, asleep: PEs may share a core."""

        def has_grown() -> bool:
            if self._memory.word(place) >= at_least:
                return True
            self._library.progress()
            return False

        wait_until(has_grown)


class Downward(_Lane):
    """Bytes from root to all. Two buffers take turns: a PE passes one on while the next one comes.

    A buffer is filled again when all children have said that they are done with it.
    """

    def __init__(self, library: "Library", memory: "Memory") -> None:
        super().__init__(library, memory)
        self._flag = memory.words(1)
        self._done = memory.words(1), memory.words(1)
        self._buffers = memory.buffer(CHUNK), memory.buffer(CHUNK)
        self._moved = 0
        self._expected = [0, 0]

    def bring(self, message: memoryview) -> None:
        """Bring root's message to all; elsewhere ``message``, of the same length, is filled."""
        for start in range(0, len(message), CHUNK):
            self._bring(message[start : start + CHUNK])

    def _bring(self, part: memoryview) -> None:
        turn = self._moved % 2
        self._moved += 1
        here = self._buffers[turn]
        # Its own buffer is written by this PE's parent alone, which asks in its turn.
        self._wait(self._done[turn], self._expected[turn])
        if self._parent is None:
            self._memory.view(here, len(part))[:] = part
        else:
            self._wait(self._flag, self._moved)
            part[:] = self._memory.view(here, len(part))
        call = self._library.call
        for child in self._children:
            call("putmem", here, here, len(part), child)
        call("fence")
        for child in self._children:
            call("int64_p", self._flag, self._moved, child)
        self._expected[turn] += len(self._children)
        if self._parent is not None:
            call("int64_atomic_add", self._done[turn], 1, self._parent)


class Upward(_Lane):
    """Numbers from all to root, combined on the way, along the tree.

    ``place``: which of its parent's children this PE is.
    """

    def __init__(self, library: "Library", memory: "Memory", place: int) -> None:
        super().__init__(library, memory)
        self._place = place
        self._may_put = memory.words(1)
        self._arrived = memory.words(FANOUT)
        # A slot for each child, and this PE's own.
        self._slots = memory.buffer((FANOUT + 1) * NUMBERS * WORD)
        self._rounds = 0

    def combine(self, values: list[int], by: "Callable[[int, int], int]") -> list[int]:
        """Return, on root, the values of all ranks, combined one by one."""
        found: list[int] = []
        for start in range(0, len(values), NUMBERS):
            found += self._combine(values[start : start + NUMBERS], by)
        return found

    def _combine(self, values: list[int], by: "Callable[[int, int], int]") -> list[int]:
        call = self._library.call
        self._rounds += 1
        size = len(values) * WORD
        for place, child in enumerate(self._children):
            self._wait(self._arrived + place * WORD, self._rounds)
            values = list(map(by, values, unpack(self._memory.view(self._slot(place), size))))
            call("int64_p", self._may_put, self._rounds, child)
        if self._parent is not None:
            # Its parent has read what this PE put there before.
            self._wait(self._may_put, self._rounds - 1)
            own = self._slot(FANOUT)
            self._memory.view(own, size)[:] = pack(values)
            call("putmem", self._slot(self._place), own, size, self._parent)
            call("fence")
            call("int64_p", self._arrived + self._place * WORD, self._rounds, self._parent)
        return values

    def _slot(self, place: int) -> int:
        return self._slots + place * NUMBERS * WORD
