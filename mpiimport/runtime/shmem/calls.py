"""The OpenSHMEM library of this process, called without ctypes' Python part, and memory that is the same on all PEs."""

from .. import os
from ..c_functions import address, area_at, bind, open_library
from ..mpi.openshmem import LIBRARY
from ..mpi.private_import import NoMpi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# By name: what each returns and takes, as ctypes' types have it; P a pointer, L a size, i an int, q 64 bits.
FUNCTIONS = {
    "shmem_init": ("", ""),
    "shmem_my_pe": ("i", ""),
    "shmem_n_pes": ("i", ""),
    "shmem_malloc": ("P", "L"),
    "shmem_free": ("", "P"),
    "shmem_ptr": ("P", "Pi"),
    "shmem_putmem": ("", "PPLi"),
    "shmem_int64_p": ("", "Pqi"),
    "shmem_int64_atomic_add": ("", "Pqi"),
    "shmem_fence": ("", ""),
    "shmem_barrier_all": ("", ""),
    "shmem_global_exit": ("", "i"),
    # Open MPI's own, for which OpenSHMEM has no name.
    "opal_progress": ("", ""),
}
# Some of them may be the library's macros.
OTHERWISE = {"shmem_int64_atomic_add": "shmem_long_atomic_add"}

REMEDY = "set MPIIMPORT_TRANSPORT=mpi (or transport in the site profile)"
WORD, LINE = 8, 64
# Bytes that are cleared at a time.
PART = 1 << 16


class NoShmem(NoMpi):
    """OpenSHMEM cannot be used here; the message says why and what would cure it."""


class Library:
    """The functions of the library, and its ``finalize`` by address. Raises NoShmem.

    ``progress``: looks after what other nodes put here. No function of OpenSHMEM that returns at once does that.
    """

    def __init__(self) -> None:
        try:
            # Its plugins need its symbols.
            handle = open_library(LIBRARY, os.RTLD_LAZY | os.RTLD_GLOBAL)
        except (ImportError, OSError) as exc:
            raise NoShmem(
                f"OpenSHMEM does not load ({exc}); put the directory of {LIBRARY} on LD_LIBRARY_PATH, or {REMEDY}"
            ) from None
        self._functions: dict[str, Callable[..., Any]] = {}
        for name, (returned, kinds) in FUNCTIONS.items():
            where = address(handle, name) or address(handle, OTHERWISE.get(name, name))
            if not where:
                raise NoShmem(f"{LIBRARY} has no {name}; {REMEDY}")
            self._functions[name] = bind(where, returned, kinds)
        self.finalize = address(handle, "shmem_finalize")
        self.progress = self._functions["opal_progress"]

    def call(self, name: str, *arguments: int) -> int:
        """Call ``shmem_`` + ``name``; return what it returns, 0 for nothing."""
        found: int = self._functions["shmem_" + name](*arguments) or 0
        return found


class Memory:
    """Symmetric memory, from ``start`` on: words, zero at first, and buffers. All PEs take them by the same calls."""

    def __init__(self, library: Library, words: int, buffers: int) -> None:
        """Collective: room for so many bytes of each. Raises NoShmem on all PEs or none: their heaps have one size."""
        self._library = library
        self.start = library.call("malloc", words + buffers)
        if not self.start:
            needed = -(-(words + buffers) >> 20)
            raise NoShmem(
                f"the symmetric heap has no {needed} MiB left; set SHMEM_SYMMETRIC_HEAP_SIZE (Open MPI 4) or "
                "SHMEM_SYMMETRIC_SIZE to more"
            )
        self._content = area_at(self.start, words + buffers)
        # Pages of buffers that are not used are never touched.
        self._content[:words] = bytes(words)
        self._next_word, self._next_buffer = self.start, self.start + words
        library.call("barrier_all")

    def words(self, count: int) -> int:
        """Return the place of so many words, in cache lines of their own."""
        place = self._next_word
        self._next_word += lines(count * WORD)
        return place

    def buffer(self, size: int) -> int:
        place = self._next_buffer
        self._next_buffer += lines(size)
        return place

    def view(self, place: int, size: int) -> memoryview:
        """Return this PE's memory at a place."""
        begin = place - self.start
        return self._content[begin : begin + size]

    def word(self, place: int) -> int:
        """Return the number at a place of this PE's memory."""
        found: int = self.view(place, WORD).cast("q")[0]
        return found

    def free(self) -> None:
        """Give it back as it was, all zero. Collective."""
        # Nothing that another PE has put is still on its way.
        self._library.call("barrier_all")
        for offset in range(0, len(self._content), PART):
            part = self._content[offset : offset + PART]
            part[:] = bytes(len(part))
        self._library.call("free", self.start)


def lines(size: int) -> int:
    """Return the bytes of whole cache lines for ``size`` bytes."""
    return -(-size // LINE) * LINE
