"""The store of one node: a private directory in memory that its ranks fill once and read from then on.

A file that was filled with what root sent is sealed: its modification time gets a fraction that any later
write or truncation replaces. Ranks map libraries only from sealed files, which costs them no look at the content.

lock     locked, shared, by every process that uses the store (flock(2)), so that the last one out removes it
index    what the store holds, as `index.Index` packs it
code     the code objects, one after another
lib/...  shared libraries under their original absolute paths, so that $ORIGIN keeps its meaning
late/... what the ranks add, see `late_records`
"""

from .. import open, os, time
from ..c_functions import LOCK_EX, LOCK_NB, LOCK_SH, flock
from ..digest import FORMAT, Damaged, digest
from ..open_file import OpenFile
from ..options import STORE_SIZE
from ..size import Size, in_words
from .memory import excess, room

STORE_PREFIX = "mpiimport-"
LOCK, NEW_LOCK = "lock", "lock.new"
LIBRARIES = "lib"
# A store this old without a lock was left by a process that died within its first instants.
ABANDONED_SECONDS = 600
# The nanoseconds of a sealed file's modification time.
SEAL = 462_770_900 + FORMAT
SECOND = 10**9


class NoRoom(Exception):
    """No directory can hold the store; the message says what was tried and what would cure it."""


def room_for_store(candidates: list[str], most: Size = STORE_SIZE) -> int:
    """Return the bytes that a store may take in the one of the directories with the most room. Never raises."""
    return max(room(parent, most) for parent in candidates)


class Store:
    """An open store. ``directory``: where it is; ``executable``: libraries may be mapped from it."""

    def __init__(self, directory: str, lock: int) -> None:
        """``lock``: the descriptor of the lock, locked; each process has opened it by itself."""
        self.directory = directory
        self._lock: OpenFile | None = OpenFile(lock)
        self._pid = os.getpid()
        self._code: OpenFile | None = None
        self.executable = not os.statvfs(directory).f_flag & os.ST_NOEXEC

    @classmethod
    def create(cls, candidates: list[str], sizes: dict[str, int], most: Size = STORE_SIZE) -> "Store":
        """Reserve a store in the first candidate directory that has room.

        ``sizes``: bytes of each file by its name in the store; ``most``: what it may take, as for ``excess``.
        Libraries are left out where they could not be mapped. Raises NoRoom.
        """
        tried = []
        needed = sum(sizes.values())
        for parent in candidates:
            directory = os.path.join(parent, _own_prefix() + os.urandom(16).hex())
            try:
                limit = excess(needed, parent, most)
                if limit:
                    tried.append(f"{parent}: {in_words(needed)} are needed, more than {limit}")
                    continue
                os.mkdir(directory, 0o700)
                try:
                    store = cls(directory, _new_lock(directory))
                except OSError:
                    _remove(directory)
                    raise
            except OSError as exc:
                tried.append(f"{parent}: {exc.strerror}")
                continue
            try:
                store._reserve(sizes)
                return store
            except OSError as exc:
                store.leave()
                tried.append(f"{parent}: {exc.strerror} ({in_words(needed)} are needed)")
        raise NoRoom("no place for the store: " + "; ".join(tried) + "; name one with MPIIMPORT_STORE")

    @classmethod
    def join(cls, directory: str) -> "Store | None":
        """Open a neighbour's store; None where this process cannot see or lock it, or it is not this user's own."""
        try:
            status = os.lstat(directory)
            if status.st_uid != os.geteuid() or status.st_mode & 0o77:
                return None
            lock = _open_lock(directory)
        except OSError:
            return None
        store = None
        try:
            # Who has it alone is removing the store.
            flock(lock, LOCK_SH | LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.lstat(os.path.join(directory, LOCK))):
                store = cls(directory, lock)
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
        fd = os.open(self.path(name), os.O_WRONLY | os.O_CLOEXEC)
        try:
            while data:
                count = os.pwrite(fd, data, offset)
                offset += count
                data = data[count:]
        finally:
            os.close(fd)

    def seal(self, name: str) -> None:
        """Mark a file as complete. Raises OSError, also where the file system rounds times."""
        now = time.time_ns()
        os.utime(self.path(name), ns=(now, now - now % SECOND + SEAL))
        if not self.is_sealed(name):
            raise OSError("the store's file system does not keep nanoseconds; name another with MPIIMPORT_STORE")

    def is_sealed(self, name: str) -> bool:
        """Tell whether a file is as its writer left it. Raises OSError where it is gone."""
        return os.stat(self.path(name)).st_mtime_ns % SECOND == SEAL

    def open_code(self) -> None:
        """Keep the code file open, so that it can be read even if the files should vanish. Raises OSError."""
        self._code = OpenFile(os.open(self.path("code"), os.O_RDONLY | os.O_CLOEXEC))

    def read_code(self, offset: int, length: int, expected: bytes) -> bytes:
        """Return the part of the code file whose digest is ``expected``.

        The file is opened again where the program has closed it. Raises OSError where it is gone then, and Damaged.
        """
        data = self._read_code(offset, length)
        if digest(data) != expected and not (self._code is not None and self._code.is_open()):
            self.open_code()
            data = self._read_code(offset, length)
        if digest(data) != expected:
            raise Damaged("a record of the store is damaged")
        return data

    def _read_code(self, offset: int, length: int) -> bytes:
        try:
            return b"" if self._code is None else os.pread(self._code.descriptor, length, offset)
        except OSError:
            return b""

    def read_index(self) -> bytes:
        with open(self.path("index"), "rb") as stream:
            return stream.read()

    def is_used_by_this_process(self) -> bool:
        """Tell whether this process keeps the store from being removed, as a forked child does not."""
        return self._lock is not None and os.getpid() == self._pid

    def leave(self) -> None:
        """Stop using the store, and remove it where no other process uses it. Never raises.

        A forked child shares its parent's lock, which ends here with the parent.
        """
        if self._lock is None or os.getpid() != self._pid:
            return
        held, self._lock = self._lock, None
        try:
            lock = held.descriptor if held.is_open() else _open_lock(self.directory)
            _remove_if_unused(self.directory, lock)
        except OSError:
            pass

    def discard(self) -> None:
        """Remove the store whoever uses it, for the job is about to be ended. Never raises."""
        if os.getpid() == self._pid:
            try:
                _remove(self.directory)
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


def library_name(path: str) -> str:
    """Return where a store keeps the library with the absolute path ``path``."""
    return LIBRARIES + path


def sweep(parents: list[str]) -> None:
    """Remove this user's stores that no process uses: those of jobs that were killed. Never raises."""
    mine = _own_prefix()
    for parent in parents:
        try:
            names = [name for name in os.listdir(parent) if name.startswith(mine)]
        except OSError:
            continue
        for name in names:
            _sweep_one(os.path.join(parent, name))


def _own_prefix() -> str:
    """Return how the names of this user's stores begin; those that are locked otherwise than here differ in this."""
    return f"{STORE_PREFIX}{os.geteuid()}."


def _sweep_one(directory: str) -> None:
    try:
        status = os.lstat(directory)
        if status.st_uid != os.geteuid() or status.st_mode & 0o170000 != 0o040000:
            return
        try:
            lock = _open_lock(directory)
        except FileNotFoundError:
            if os.stat(directory).st_mtime + ABANDONED_SECONDS < time.time():
                _remove(directory)
            return
        _remove_if_unused(directory, lock)
    except OSError:
        return


def _new_lock(directory: str) -> int:
    """Create the lock file already locked: a sweeper must never find it free. Raises OSError."""
    fresh = os.path.join(directory, NEW_LOCK)
    lock = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        flock(lock, LOCK_SH | LOCK_NB)
    except OSError as exc:
        os.close(lock)
        raise OSError(exc.errno, f"no file can be locked there (flock: {exc.strerror})") from None
    os.rename(fresh, os.path.join(directory, LOCK))
    return lock


def _open_lock(directory: str) -> int:
    """Open the lock of a store. Raises OSError."""
    return os.open(os.path.join(directory, LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)


def _remove_if_unused(directory: str, lock: int) -> None:
    """Remove a store whose lock nobody else holds, and close ``lock``. Raises OSError.

    Nobody joins meanwhile. Where another holds it, what this process held of it is given up.
    """
    try:
        flock(lock, LOCK_EX | LOCK_NB)
        _remove(directory)
    finally:
        os.close(lock)


def _fail(exc: OSError) -> None:
    raise exc


def _remove(directory: str) -> None:
    """Remove a store, the lock last, by which what is left after a failure is seen to be unused. Raises OSError."""
    for parent, directories, files in os.walk(directory, topdown=False, onerror=_fail):
        for name in files:
            if name != LOCK or parent != directory:
                os.unlink(os.path.join(parent, name))
        for name in directories:
            os.rmdir(os.path.join(parent, name))
    lock = os.path.join(directory, LOCK)
    if os.path.lexists(lock):
        os.unlink(lock)
    os.rmdir(directory)
