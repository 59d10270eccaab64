"""The store of one node: a private directory in memory that its ranks fill once and read from then on.

A file that was filled with what root sent is sealed: its modification time gets a fraction that any later
write or truncation replaces. Ranks take code and libraries only from sealed files, which costs them no look at the
content.

lock       locked, shared, by every process that uses the store (flock(2)), so that the last one out removes it; says
           that this is a store, and of a cached one each of them adds a byte to it
index      what the store holds, as `index.Index` packs it
code       the code objects, one after another
dependencies  of a cached store: what its paths were like, as `dependencies.Dependencies` packs it
lib/...    shared libraries under their original absolute paths, so that $ORIGIN keeps its meaning
late/...   what the ranks add, see `late_records`
validated  of a cached store: see `shared_validation`
"""

from .. import os, time
from ..c_functions import LOCK_NB, LOCK_SH, flock
from ..clock import SECOND
from ..digest import FORMAT, Damaged
from ..open_file import OpenFile, out_of_the_way
from ..option_table import STORE_SIZE
from ..regular_file import open_regular, read_regular
from ..size import Size, in_words
from .lock import LOCK, new_lock, open_lock, own_prefix, remove, remove_if_unused
from .memory import excess, room
from .parents import who_may_rename

LIBRARIES = "lib"
# In a cached store: for people, what it is a store for. Unlike a sealed file it has the time at which it was written.
PROGRAM = "program"
# The nanoseconds of a sealed file's modification time.
SEAL = 462_770_900 + FORMAT


class NoRoom(Exception):
    """No directory can hold the store; the message says what was tried and what would cure it."""


def room_for_store(candidates: list[str], most: Size = STORE_SIZE) -> int:
    """Return the bytes that a store may take in the one of the directories with the most room. Never raises."""
    return max(room(parent, most) for parent in candidates)


class Store:
    """An open store. ``directory``: where it is; ``executable``: libraries may be mapped from it; ``vouched``: nobody
    looks whether the tree is as it was."""

    def __init__(self, directory: str, lock: int, lasting: bool = False) -> None:
        """``lock``: the descriptor of the lock, locked; each process has opened it by itself.

        ``lasting``: it outlives its users, as one in a cache does.
        """
        self.directory = directory
        self.lasting = lasting
        self.vouched = False
        # Directories that came first, and in which others may rename.
        self.passed_over: list[str] = []
        self._lock: OpenFile | None = OpenFile(lock)
        self._pid = os.getpid()
        self._code: OpenFile | None = None
        self.executable = not os.statvfs(directory).f_flag & os.ST_NOEXEC

    @classmethod
    def create(cls, candidates: list[str], sizes: dict[str, int], most: Size = STORE_SIZE) -> "Store":
        """Reserve a store in the first candidate directory that has room.

        ``sizes``: bytes of each file by its name in the store; ``most``: what it may take, as for ``excess``.
        Libraries are excluded where they could not be mapped. Raises NoRoom.
        """
        tried, passed_over = [], []
        needed = sum(sizes.values())
        for parent in candidates:
            directory = os.path.join(parent, own_prefix() + os.urandom(16).hex())
            try:
                reason = who_may_rename(parent)
                if reason:
                    tried.append(f"{parent}: {reason}")
                    passed_over.append(reason)
                    continue
                limit = excess(needed, parent, most)
                if limit:
                    tried.append(f"{parent}: {in_words(needed)} are needed, more than {limit}")
                    continue
                os.mkdir(directory, 0o700)
                try:
                    store = cls(directory, new_lock(directory))
                except OSError:
                    remove(directory)
                    raise
            except OSError as exc:
                tried.append(f"{parent}: {exc.strerror}")
                continue
            try:
                store._reserve(sizes)
                store.passed_over = passed_over
                return store
            except OSError as exc:
                # By mpiimport session stop, say.
                removed = not os.path.isdir(directory)
                store.leave()
                reason = "it was removed meanwhile" if removed else f"{exc.strerror} ({in_words(needed)} are needed)"
                tried.append(f"{parent}: {reason}")
        raise NoRoom("no place for the store: " + "; ".join(tried) + "; name one with MPIIMPORT_STORE")

    @classmethod
    def join(cls, directory: str, lasting: bool = False) -> "Store | None":
        """Open a neighbour's store; None where this process cannot see or lock it, or it is not this user's own."""
        try:
            status = os.lstat(directory)
            if status.st_uid != os.geteuid() or status.st_mode & 0o77:
                return None
            # A cache has been checked as a whole.
            if not lasting and who_may_rename(os.path.dirname(directory)):
                return None
            lock = open_lock(directory)
        except OSError:
            return None
        store = None
        try:
            # Who has it alone is removing the store.
            flock(lock, LOCK_SH | LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.lstat(os.path.join(directory, LOCK))):
                store = cls(directory, out_of_the_way(lock), lasting)
        except OSError:
            pass
        finally:
            if store is None:
                os.close(lock)
        return store

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def holds(self, name: str) -> bool:
        """Tell whether this store keeps the file: libraries only where they can be mapped."""
        return self.executable or not name.startswith(LIBRARIES + "/")

    def write(self, name: str, offset: int, data: memoryview) -> None:
        """Fill a part of a file. Raises OSError."""
        fd = open_regular(self.path(name), os.O_WRONLY)
        try:
            while data:
                count = os.pwrite(fd, data, offset)
                offset += count
                data = data[count:]
        finally:
            os.close(fd)

    def seal(self, name: str) -> None:
        """Mark a file as complete. Raises OSError, also where the file system rounds times."""
        seal(self.path(name))

    def is_sealed(self, name: str) -> bool:
        """Tell whether a file is as its writer left it. Raises OSError where it is gone."""
        return has_seal(os.stat(self.path(name)))

    def open_code(self) -> None:
        """Keep the code file open, so that it can be read even if the files should vanish. Raises OSError."""
        self._code = OpenFile(out_of_the_way(open_regular(self.path("code"))))

    def read_code(self, offset: int, length: int) -> bytes:
        """Return a part of the code file.

        The file is opened again where the program has closed it. Raises OSError where it is gone then, and Damaged
        where something has been written to it since it was sealed.
        """
        found = self._read_code(offset, length)
        if found is None:
            self.open_code()
            found = self._read_code(offset, length)
        if found is None or len(found) != length:
            raise Damaged("the code in the store is damaged")
        return found

    def _read_code(self, offset: int, length: int) -> bytes | None:
        """Return what is read, nothing of a file that is not sealed; None where the file is not open any more."""
        if self._code is None:
            return None
        try:
            data = os.pread(self._code.descriptor, length, offset)
        except OSError:
            return None
        # What is written while this reads shows by now.
        status = self._code.status()
        if status is None:
            return None
        return data if has_seal(status) else b""

    def read(self, name: str) -> bytes:
        """Return what a file holds. Raises OSError."""
        return read_regular(self.path(name))

    def filled(self) -> float:
        """Return when a cached one was complete, in seconds since the epoch. Raises OSError."""
        return os.stat(self.path(PROGRAM)).st_mtime

    def is_used_by_this_process(self) -> bool:
        """Tell whether this process keeps the store from being removed, as a forked child does not."""
        return self._lock is not None and os.getpid() == self._pid

    def count_use(self) -> None:
        """Let people, and who removes unused stores, know that one more process uses a cached store."""
        try:
            if self._lock is not None:
                os.write(self._lock.descriptor, b".")
        except OSError:
            # There is no room.
            pass

    def leave(self) -> None:
        """Stop using the store, and remove it where no other process uses it. Never raises.

        A forked child shares its parent's lock, which ends here with the parent.
        """
        if self._lock is None or os.getpid() != self._pid:
            return
        held, self._lock = self._lock, None
        try:
            lock = held.descriptor if held.is_open() else open_lock(self.directory)
            if self.lasting:
                os.close(lock)
            else:
                remove_if_unused(self.directory, lock)
        except OSError:
            pass

    def discard(self) -> None:
        """Remove the store although it is used, for the job is about to be ended. Never raises."""
        if os.getpid() == self._pid and not self.lasting:
            try:
                remove(self.directory)
            except OSError:
                pass

    def _reserve(self, sizes: dict[str, int]) -> None:
        """Create every file with its room allocated: writing into a full tmpfs later would be a SIGBUS."""
        for name, size in sizes.items():
            if not self.holds(name):
                continue
            if "/" in name:
                os.makedirs(os.path.dirname(self.path(name)), 0o700, exist_ok=True)
            fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o700)
            try:
                if size:
                    os.posix_fallocate(fd, 0, size)
            finally:
                os.close(fd)


def seal(file: "str | int") -> None:
    """Mark a file as complete, by its path or descriptor. Raises OSError, also where the file system rounds times."""
    now = time.time_ns()
    os.utime(file, ns=(now, now - now % SECOND + SEAL))
    if not has_seal(os.stat(file)):
        raise OSError("the store's file system does not keep nanoseconds; name another with MPIIMPORT_STORE")


def has_seal(status: "os.stat_result") -> bool:
    """Tell whether a file is as its writer left it."""
    return status.st_mtime_ns % SECOND == SEAL


def library_name(path: str) -> str:
    """Return where a store keeps the library with the absolute path ``path``."""
    return LIBRARIES + path
