"""A simulated shared file system: clients that show local directories as one distant server would, and exact counts."""

import mmap
import os
import struct
import subprocess
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import TracebackType

from .provisioning import provision

# What mount(8) calls it. No file on it changes without the times of its inode.
FILE_SYSTEM_TYPE = "fuse.sharedfs"
# What the clients take for ever: seconds that fit the kernel's time.
FOREVER = 1e9
NANOSECONDS = 1e9
# The server's memory, as sharedfs/server.h lays it out: six words, then a row of counts for each client.
WORD = 8
SERVICE_TIME, BYTES_PER_SECOND, METADATA_FREE_AT, DATA_FREE_AT, METADATA_BUSY, DATA_BUSY, ROWS = range(7)
CLIENTS = 1024
# How long closes may be on their way; files that stay open are no error.
SETTLED_SECONDS = 1.0


@dataclass(frozen=True)
class Caching:
    """For how many seconds a client answers by itself, as the locks of a parallel file system let it.

    ``entries``: what a name stands for; ``attributes``: of a file; ``absences``: that a name does not exist;
    ``contents``: whether data, listings and link targets stay in memory once they were read.
    """

    entries: float = FOREVER
    attributes: float = FOREVER
    absences: float = FOREVER
    contents: bool = True


NO_CACHING = Caching(0, 0, 0, False)


@dataclass(frozen=True)
class Counts:
    """What was asked of the server. ``lookups`` found something, ``absent`` did not; closes of directories are free."""

    lookups: int = 0
    absent: int = 0
    getattrs: int = 0
    opens: int = 0
    closes: int = 0
    opendirs: int = 0
    readdirs: int = 0
    readlinks: int = 0
    statfss: int = 0
    reads: int = 0
    read_bytes: int = 0

    @property
    def metadata(self) -> int:
        """The operations that wait in the server's metadata queue: all but reads."""
        every: tuple[int, ...] = astuple(self)
        return sum(every) - self.reads - self.read_bytes

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


ROW = len(fields(Counts))


@dataclass(frozen=True)
class Load:
    """What the server had to do: counts by the client's name, and the seconds that its two queues took."""

    clients: dict[str, Counts]
    metadata_busy: float
    data_busy: float

    @property
    def total(self) -> Counts:
        return sum(self.clients.values(), Counts())


@dataclass(frozen=True)
class Operation:
    """One operation of a client. ``pid``: of the process that asked, 0 for the kernel's own, as all closes are."""

    client: str
    pid: int
    name: str
    path: str


@dataclass
class Mount:
    """One mounted directory. ``words``: the command line of its client process."""

    words: list[str]
    enter: list[str]
    at: Path
    process: subprocess.Popen[bytes] | None = None


class SharedFileSystem:
    """A server, and the clients that are mounted while the context lasts.

    ``service_time``: seconds of the server for each metadata operation, one after another; ``bandwidth``: bytes per
    second of all reads together, 0 for no limit; ``record``: a new file in which each operation is noted;
    ``writable``: what is mounted looks as if it could be written to, as a user's own directories do.
    """

    def __init__(
        self,
        service_time: float = 0.0,
        bandwidth: int = 0,
        caching: Caching | None = None,
        record: Path | None = None,
        writable: bool = False,
    ) -> None:
        self._mode = "rw" if writable else "ro"
        self._program = provision("lab.sh")
        self._caching = caching or Caching()
        self._record = None if record is None else os.open(record, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        self._names: dict[str, int] = {}
        self._mounts: list[Mount] = []
        self._fd = os.memfd_create("sharedfs")
        os.ftruncate(self._fd, (ROWS + CLIENTS * ROW) * WORD)
        self._memory = mmap.mmap(self._fd, 0)
        self._write(SERVICE_TIME, round(service_time * NANOSECONDS))
        self._write(BYTES_PER_SECOND, bandwidth)

    def __enter__(self) -> "SharedFileSystem":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unmount(self._mounts)
        self._memory.close()
        for fd in self._inherited():
            os.close(fd)

    def mount(self, client: str, directory: Path, at: Path | None = None, enter: Sequence[str] = ()) -> None:
        """Show ``directory`` at ``at``, or in its own place, as ``client`` sees it. Returns once it is there.

        ``enter``: words in front of a command that run it in the namespaces where to mount.
        """
        number = self._names.setdefault(client, len(self._names))
        at = at or directory
        seconds = [f"{value:f}" for value in astuple(self._caching)[:3]]
        words = [str(self._program), str(self._fd), str(number), str(directory), str(at), *seconds]
        words += [str(int(self._caching.contents)), self._mode]
        words += [] if self._record is None else [str(self._record)]
        self._mounts.append(Mount(words, list(enter), at))
        self._start(self._mounts[-1:])

    def load(self) -> Load:
        """Return what was done since the start or the last reset.

        The kernel tells of a close after it has happened: files that nobody has open any more are waited for.
        """
        latest = time.monotonic() + SETTLED_SECONDS
        while (load := self._read()).total.opens != load.total.closes and time.monotonic() < latest:
            time.sleep(0.01)
        return load

    def _read(self) -> Load:
        words = struct.unpack(f"{len(self._memory) // WORD}Q", self._memory[:])
        rows = {name: words[ROWS + number * ROW :][:ROW] for name, number in self._names.items()}
        return Load(
            {name: Counts(*row) for name, row in rows.items()},
            words[METADATA_BUSY] / NANOSECONDS,
            words[DATA_BUSY] / NANOSECONDS,
        )

    def operations(self) -> list[Operation]:
        """Return what was recorded since the start or the last reset."""
        assert self._record is not None, "this file system keeps no record"
        self.load()
        names = list(self._names)
        with open(self._record, closefd=False) as stream:
            stream.seek(0)
            lines = [line.rstrip("\n").split(" ", 3) for line in stream]
        return [Operation(names[int(client)], int(pid), name, path) for client, pid, name, path in lines]

    def reset(self) -> None:
        """Begin to count anew. The clients' caches stay as they are."""
        self._memory[METADATA_BUSY * WORD :] = bytes(len(self._memory) - METADATA_BUSY * WORD)
        if self._record is not None:
            os.ftruncate(self._record, 0)

    def remount(self) -> None:
        """Mount every client anew, with empty caches, and begin to count anew."""
        self._unmount(self._mounts)
        self._start(self._mounts)
        self.reset()

    def set_service_time(self, seconds: float) -> None:
        self._write(SERVICE_TIME, round(seconds * NANOSECONDS))

    def _inherited(self) -> list[int]:
        return [self._fd] if self._record is None else [self._fd, self._record]

    def _write(self, word: int, value: int) -> None:
        self._memory[word * WORD : (word + 1) * WORD] = struct.pack("Q", value)

    def _start(self, mounts: list[Mount]) -> None:
        for mount in mounts:
            command = [*mount.enter, *mount.words]
            mount.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=self._inherited()
            )
        for mount in mounts:
            assert mount.process and mount.process.stdout
            if mount.process.stdout.readline() != b"mounted\n":
                raise OSError(f"no client could be mounted at {mount.at}; sharedfs has said why")

    def _unmount(self, mounts: list[Mount]) -> None:
        for mount in mounts:
            if mount.process:
                mount.process.terminate()
        for mount in mounts:
            if mount.process and mount.process.stdout:
                # Where the process is a nsenter that waits for the client, only its output ends with the client.
                mount.process.stdout.read()
                mount.process.stdout.close()
                mount.process.wait()
                mount.process = None
            if not mount.enter and shows_client(mount.at):
                # It died by itself. In a namespace the mount vanishes with that.
                subprocess.run(["umount", "--lazy", str(mount.at)], check=True)


def shows_client(directory: Path) -> bool:
    """Tell whether a client is mounted here. proc(5), mountinfo."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    types = [fields[fields.index("-") + 1] for fields in map(str.split, lines) if fields[4] == str(directory)]
    return types[-1:] == [FILE_SYSTEM_TYPE]
