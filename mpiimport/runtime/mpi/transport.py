"""Collectives over MPI on a private communicator, with raw buffers, by ranks that sleep while they wait."""

import sys

from .. import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# Names the private communicator among calls to MPI_Comm_create_group.
CREATION_TAG = 0x4D50
# Bytes of one broadcast call: large enough for bandwidth, and far below the 2 GiB of an int count.
CHUNK = 8 << 20
SHORTEST_SLEEP, LONGEST_SLEEP = 0.0002, 0.005
# From sleep to sleep: whoever waits comes late by this part of the wait at most, in each of the steps of a collective.
GROWTH = 1.05
# Tag of the messages that tell that a rank has failed, and that all have.
FAILED = 0


class Transport:
    """The ranks of one communicator.

    ``rank``, ``size``: as in MPI. Every method is collective over the communicator.
    """

    def __init__(self, mpi: "ModuleType", communicator: "Any") -> None:
        self._mpi = mpi
        self._comm = communicator
        self._parts: list[Transport] = []
        self.rank: int = communicator.Get_rank()
        self.size: int = communicator.Get_size()

    @classmethod
    def over_world(cls, mpi: "ModuleType") -> "Transport":
        """Return a transport over all ranks, on a communicator of its own.

        MPI_Comm_create_group (MPI-3, 6.4.2) matches only its own kind, so that a program beside us that does
        not take part can never receive our messages as its own.
        """
        world = mpi.COMM_WORLD
        group = world.Get_group()
        try:
            return cls(mpi, world.Create_group(group, CREATION_TAG))
        finally:
            group.Free()

    def program(self) -> int:
        """Return which program of a launch of several this rank runs (MPI-4, 11.8.2)."""
        return self._mpi.COMM_WORLD.Get_attr(self._mpi.APPNUM) or 0

    def neighbours(self) -> "Transport":
        """Return the transport over the ranks that can share memory with this one."""
        return self._part(self._comm.Split_type(self._mpi.COMM_TYPE_SHARED, self.rank))

    def among(self, member: bool) -> "Transport | None":
        """Return the transport over the ranks with ``member`` true, in the same order; None elsewhere."""
        part = self._comm.Split(0 if member else self._mpi.UNDEFINED, self.rank)
        return self._part(part) if member else None

    def extremes(self, values: list[int]) -> tuple[list[int], list[int]]:
        """Return the smallest and the largest of each value over all ranks (values below 2**62)."""
        send = pack([*values, *(-value for value in values)])
        receive = bytearray(len(send))
        kind = self._mpi.INT64_T
        self._wait(self._comm.Iallreduce([send, kind], [receive, kind], self._mpi.MAX))
        found = unpack(receive)
        return [-value for value in found[len(values) :]], found[: len(values)]

    def totals(self, values: list[int]) -> list[int] | None:
        """Return the sum of each value over all ranks, on root; None elsewhere."""
        send = pack(values)
        receive = bytearray(len(send))
        kind = self._mpi.INT64_T
        self._wait(self._comm.Ireduce([send, kind], [receive, kind], self._mpi.SUM, 0))
        return unpack(receive) if self.rank == 0 else None

    def table(self, values: list[int]) -> "memoryview | None":
        """Return every rank's values, as many of each, one rank after another, on root; None elsewhere."""
        send = pack(values)
        receive = bytearray(len(send) * self.size if self.rank == 0 else 0)
        kind = self._mpi.INT64_T
        self._wait(self._comm.Igather([send, len(values), kind], [receive, len(values), kind], 0))
        return memoryview(receive).cast("q") if self.rank == 0 else None

    def collect(self, data: bytes, room: int) -> list[bytes]:
        """Return every rank's ``data``, at most ``room`` bytes of it and no zero bytes, on root; nothing elsewhere."""
        receive = bytearray(room * self.size if self.rank == 0 else 0)
        kind = self._mpi.BYTE
        self._wait(self._comm.Igather([data.ljust(room, b"\0"), room, kind], [receive, room, kind], 0))
        return [bytes(receive[start : start + room]).rstrip(b"\0") for start in range(0, len(receive), room)]

    def broadcast(self, data: bytes, root: int = 0) -> bytes:
        """Return root's ``data``; elsewhere ``data`` is ignored."""
        length = bytearray(pack([len(data)]))
        self._wait(self._comm.Ibcast([length, self._mpi.BYTE], root))
        buffer = bytearray(data if self.rank == root else unpack(length)[0])
        for start in range(0, len(buffer), CHUNK):
            self._comm.Bcast([memoryview(buffer)[start : start + CHUNK], self._mpi.BYTE], root)
        return bytes(buffer)

    def broadcast_into(self, buffer: memoryview, root: int = 0) -> None:
        """Fill ``buffer``, of the same length on every rank, with root's.

        Root may take long to come, so ranks sleep until it has; then they stay awake, for a long message moves in many
        small steps that each take them all.
        """
        has_come = bytearray(1)
        self._wait(self._comm.Ibcast([has_come, self._mpi.BYTE], root))
        self._comm.Bcast([buffer, self._mpi.BYTE], root)

    def all_fail(self, seconds: float) -> bool:
        """Tell whether all ranks have called this within ``seconds`` of this one. Not collective: others may never.

        By messages, not by a barrier, for who has not failed may be in a collective of this communicator.
        """
        deadline = time.monotonic() + seconds
        others = [0] if self.rank else list(range(1, self.size))
        told = [self._tell_failure(0)] if self.rank else []
        heard = [self._comm.Irecv([bytearray(1), self._mpi.BYTE], other, FAILED) for other in others]
        while not all(request.Test() for request in heard):
            if time.monotonic() > deadline:
                return False
            time.sleep(LONGEST_SLEEP)
        if self.rank == 0:
            told = [self._tell_failure(other) for other in others]
        for request in told:
            self._wait(request)
        return True

    def _tell_failure(self, rank: int) -> "Any":
        return self._comm.Isend([bytearray(1), self._mpi.BYTE], rank, FAILED)

    def free_parts(self) -> None:
        """Free the transports that came of this one."""
        while self._parts:
            self._parts.pop()._comm.Free()

    def _part(self, communicator: "Any") -> "Transport":
        self._parts.append(Transport(self._mpi, communicator))
        return self._parts[-1]

    def _wait(self, request: "Any") -> None:
        """Wait asleep: ranks may share a core with the one they wait for."""
        sleep = SHORTEST_SLEEP
        while not request.Test():
            time.sleep(sleep)
            sleep = min(sleep * GROWTH, LONGEST_SLEEP)


def pack(values: list[int]) -> bytes:
    return b"".join(value.to_bytes(8, sys.byteorder, signed=True) for value in values)


def unpack(data: bytes | bytearray | memoryview) -> list[int]:
    return [int.from_bytes(data[start : start + 8], sys.byteorder, signed=True) for start in range(0, len(data), 8)]
