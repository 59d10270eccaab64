"""Where kept stores lie: one directory per user and node, or session. Nobody waits, and no daemon runs.

stores/<name>   a store (see ``store``), complete and never changed. Its lock is held by each of its users, and its
                modification time says when the last of them came
programs/<key>  a symbolic link to the store for a program, put there by renaming
wanted/<key>    what processes of a program imported that its store lacks, a name in a line: another store is wanted
filling/<key>   locked by the process that fills a store for this key, as long as it lives (flock(2))
"""

from .. import open, os, time
from ..c_functions import LOCK_EX, LOCK_NB, flock
from .lock import LOCK, is_used, own_prefix, remove, remove_unless_used, user
from .memory import room
from .store import NoRoom, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..options import Options

KINDS = STORES, PROGRAMS, WANTED, FILLING = "stores", "programs", "wanted", "filling"
# Seconds between two fillings for one program: of a tree that changes all the time nothing can be kept.
REST = 10
# In a store: what it is for; a warm image, and what is not in that, or why there is none. These have nothing else.
PROGRAM, IMAGE, LEFT_OUT, REFUSED = "program", "image", "left_out", "refused"
NAME = "mpiimport-kept."
# Seconds after which a store is given up that nobody has come to.
LEASE = 24 * 3600
# Seconds after which a store that nobody has locked, and no program leads to, is nobody's.
SETTLING = 10
# In a batch job what is kept would take the next job's memory, unless the job script starts a session and ends it.
BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID")


def batch_job() -> str:
    """Return the identifier of the batch job that this process is part of; empty outside one."""
    return next((found for found in map(os.environ.get, BATCH_JOBS) if found), "")


def of_batch_job() -> str:
    """Return how names of what is kept end in a batch job, so that its epilog knows them; empty outside one."""
    job = "".join(letter if letter.isalnum() else "_" for letter in batch_job())
    return f".{job}" if job else ""


class Place:
    """The directory of this user's kept stores on this node."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    @classmethod
    def find(cls, parents: list[str], session: str = "") -> "Place | None":
        """Return the place in the first of the directories that has one, which nobody else can have made.

        ``session``: the name of one whose place is meant.
        """
        for parent in parents:
            directory = os.path.join(parent, _own_name(session))
            try:
                status = os.lstat(directory)
            except OSError:
                continue
            is_directory = status.st_mode & 0o170000 == 0o040000
            if is_directory and status.st_uid == os.geteuid() and not status.st_mode & 0o77:
                return cls(directory)
        return None

    @classmethod
    def make(cls, parents: list[str], session: str = "") -> "Place | None":
        """Return the place, made in the first directory that can be written to; None where none can."""
        for parent in parents:
            directory = os.path.join(parent, _own_name(session))
            try:
                os.mkdir(directory, 0o700)
                place = cls(directory)
                place.complete()
            except OSError:
                continue
            return place
        return None

    @classmethod
    def found_or_made(cls, parents: list[str], session: str = "") -> "Place":
        """Return the place to fill a store in. Raises NoRoom where none can be made, and OSError."""
        place = cls.find(parents, session) or cls.make(parents, session)
        if place is None:
            raise NoRoom(f"none of {', '.join(parents)} can be written to; name another directory with MPIIMPORT_STORE")
        place.complete()
        return place

    def complete(self) -> None:
        """Make what is missing of it: whoever made it may have been killed, or somebody has removed a part."""
        for kind in KINDS:
            _make(self.path(kind))

    def path(self, *names: str) -> str:
        return os.path.join(self.directory, *names)

    def attach(self, key: str) -> Store | None:
        """Return the store for a key, from now on used by this process; None where there is none."""
        # Another may come into its place, and it be removed, while this process looks.
        for _ in range(2):
            try:
                name = os.readlink(self.path(PROGRAMS, key))
            except OSError:
                return None
            store = Store.join(self.path(STORES, os.path.basename(name)), kept=True)
            if store is not None:
                os.utime(store.directory)
                return store
        return None

    def begin_filling(self, key: str, rest: int = REST) -> int | None:
        """Return a descriptor that tells everybody, while it is open, that a store for this key is being filled.

        None where somebody else does that, or has done it less than ``rest`` seconds ago.
        """
        try:
            descriptor = os.open(self.path(FILLING, key), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return None
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
            status = os.fstat(descriptor)
            if status.st_size and time.time() - status.st_mtime < rest:
                raise BlockingIOError
            # Whatever comes of it.
            os.pwrite(descriptor, b"1", 0)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

    def create(self, sizes: dict[str, int], options: "Options") -> Store:
        """Reserve a store, for which others that nobody uses make room. Raises NoRoom."""
        self.make_room(sum(sizes.values()), options)
        return Store.create([self.path(STORES)], sizes, options.store_size)

    def make_room(self, needed: int, options: "Options") -> None:
        """Remove stores that nobody uses, as far as they take room that is needed. Raises OSError."""
        idle = self._by_last_use()
        while idle and room(self.path(STORES), options.store_size, self.size()) < needed:
            remove_unless_used(idle.pop(0))

    def publish(self, key: str, store: Store, program: str) -> None:
        """Let whoever comes attach to a complete store, instead of to the one that there may be. Raises OSError.

        ``program``: for people, what it is a store for.
        """
        store.kept = True
        with open(store.path(PROGRAM), "x", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(program)
        fresh = self.path(PROGRAMS, f"{key}.{os.getpid()}")
        before = self._target(key)
        os.symlink(os.path.join("..", STORES, os.path.basename(store.directory)), fresh)
        os.rename(fresh, self.path(PROGRAMS, key))
        if before:
            remove_unless_used(before)

    def withdraw(self, key: str, store: Store) -> None:
        """Leave a store that is damaged, and let nobody else come to it. Raises OSError."""
        store.leave()
        if self._target(key) == store.directory:
            os.unlink(self.path(PROGRAMS, key))
        remove_unless_used(store.directory)

    def want(self, key: str, modules: "Iterable[str]") -> None:
        """Let whoever comes next see to another store for a key, which has these modules too. Raises OSError."""
        lines = "".join(f"{name}\n" for name in modules if name.isprintable())
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.path(WANTED, key), flags, 0o600)
        try:
            os.write(descriptor, lines.encode(errors="surrogateescape"))
        finally:
            os.close(descriptor)

    def is_wanted(self, key: str) -> bool:
        return os.path.exists(self.path(WANTED, key))

    def take_wanted(self, key: str) -> set[str]:
        """Return what is wanted for a key, which the caller sees to."""
        try:
            with open(self.path(WANTED, key), encoding="utf-8", errors="surrogateescape") as stream:
                wanted = set(stream.read().split("\n")) - {""}
            os.unlink(self.path(WANTED, key))
        except OSError:
            return set()
        return wanted

    def size(self) -> int:
        """Return the bytes that all stores take. Raises OSError."""
        return sum(map(size_of, self._by_last_use()))

    def idle_size(self) -> int:
        """Return the bytes of those stores that no process uses now. Raises OSError."""
        return sum(size_of(directory) for directory in self._by_last_use() if not is_used(directory))

    def stores(self) -> list[str]:
        """Return the directories of the stores that processes can attach to. Raises OSError."""
        found = {self._target(key) for key in self._names(PROGRAMS)}
        return [directory for directory in self._by_last_use() if directory in found]

    def remove(self) -> list[str]:
        """Remove all stores, and the place, unless some process uses one: return those. Raises OSError."""
        for kind in (PROGRAMS, WANTED):
            for name in self._names(kind):
                os.unlink(self.path(kind, name))
        for directory in self._by_last_use():
            if os.path.lexists(os.path.join(directory, LOCK)):
                remove_unless_used(directory)
            else:
                # What is left of one that something else has begun to remove.
                remove(directory)
        left = self._by_last_use()
        for name in self._names(FILLING) if not left else ():
            os.unlink(self.path(FILLING, name))
        # Whose session it is takes the place away.
        if not left and not os.path.exists(self.path(LOCK)):
            self.complete()
            for kind in KINDS:
                os.rmdir(self.path(kind))
            os.rmdir(self.directory)
        return left

    def sweep(self, seconds: int) -> None:
        """Remove the stores that nobody has come to for so long, and those that no program leads to. Never raises."""
        try:
            wanted = {self._target(key) for key in self._names(PROGRAMS)}
            for directory in self._by_last_use():
                idle = time.time() - os.stat(directory).st_mtime
                if idle > seconds or (directory not in wanted and idle > SETTLING):
                    remove_unless_used(directory)
        except OSError:
            pass

    def _target(self, key: str) -> str:
        try:
            return self.path(STORES, os.path.basename(os.readlink(self.path(PROGRAMS, key))))
        except OSError:
            return ""

    def _by_last_use(self) -> list[str]:
        """Return the stores, first the one to which nobody has come for longest. Raises OSError."""
        found = [self.path(STORES, name) for name in self._names(STORES)]
        return sorted(filter(os.path.isdir, found), key=_last_use)

    def _names(self, kind: str) -> list[str]:
        try:
            return os.listdir(self.path(kind))
        except FileNotFoundError:
            return []


def _make(directory: str) -> None:
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass


def _last_use(store: str) -> float:
    """Return when somebody has come to a store; 0 where it has been removed meanwhile."""
    try:
        return os.stat(store).st_mtime
    except FileNotFoundError:
        return 0


def size_of(directory: str) -> int:
    """Return the bytes that a store takes, as far as it is still there."""
    total = 0
    for parent, _, files in os.walk(directory):
        total += sum(_bytes_of(os.path.join(parent, name)) for name in files)
    return total


def _bytes_of(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except FileNotFoundError:
        return 0


def _own_name(session: str) -> str:
    if session:
        # Once whoever began it has gone, it is swept as any store is that nobody uses.
        return own_prefix() + os.path.basename(session)
    return f"{NAME}{user()}{of_batch_job()}"
