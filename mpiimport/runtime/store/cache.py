"""Where cached stores lie: one directory per user and node, or session. Nobody waits, and no daemon runs.

objects/<name>  the large files of the stores, see ``objects``
stores/<name>   a store (see ``store``), complete and never changed. Its lock is held by each of its users, and says
                how many there were, and when the last of them came
programs/<key>  a symbolic link to the store for a program, put there by renaming
wanted/<key>    what processes of a program imported that its store lacks, a name in a line: another store is wanted
filling/<key>   locked by the process that fills a store for this key, as long as it lives (flock(2))
images/<digest> the cache of one image's containers: see ``image_caches``
"""

from .. import open, os, time
from ..c_functions import LOCK_EX, LOCK_NB, flock
from ..regular_file import open_regular, read_regular
from .cache_names import candidates
from .entry import last_use, size_of, write_through
from .image_caches import remove_images
from .lock import is_used, remove_unless_used
from .memory import room
from .no_cache import why_no_place
from .objects import OBJECTS, drop_unused, share
from .origin import began_in, write_origin
from .parents import who_may_rename
from .store import PROGRAM, NoRoom, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..options import Options
    from ..size import Size

STORES, PROGRAMS, WANTED, FILLING = "stores", "programs", "wanted", "filling"
# In the order in which they go: who has begun to fill a store has all of them.
KINDS = FILLING, STORES, PROGRAMS, WANTED, OBJECTS
# Seconds between two fillings for one program: of a tree that changes all the time nothing can be kept.
REST = 10
STOPPED = "mpiimport session stop came meanwhile"
# Seconds after which a store is given up that nobody has come to.
LEASE = 24 * 3600
# Seconds after which a store that nobody has locked, and no program leads to, is nobody's.
SETTLING = 10


class Cache:
    """The directory of this user's cached stores on this node."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    @classmethod
    def find(cls, parents: list[str], session: str = "") -> "Cache | None":
        """Return the cache in the first of the directories that has one, which nobody else can have made.

        ``session``: the name of one whose cache is meant.
        """
        return next(map(cls, filter(_is_own, candidates(parents, session))), None)

    @classmethod
    def make(cls, parents: list[str], session: str = "") -> "Cache | None":
        """Return the cache, made in the first directory that can be written to; None where none can."""
        return next(filter(None, map(cls._made, candidates(parents, session))), None)

    @classmethod
    def _made(cls, directory: str) -> "Cache | None":
        try:
            if who_may_rename(os.path.dirname(directory)):
                return None
            make_directory(directory)
            # Another process may make it at the same time.
            if not _is_own(directory):
                return None
            cache = cls(directory)
            cache.complete()
        except OSError:
            return None
        return cache

    @classmethod
    def found_or_made(cls, parents: list[str], session: str = "") -> "Cache":
        """Return the cache to fill a store in. Raises NoRoom where none can be made, and OSError."""
        cache = cls.find(parents, session) or cls.make(parents, session)
        if cache is None:
            raise NoRoom(why_no_place(parents, session) or STOPPED)
        cache.complete()
        return cache

    def complete(self) -> None:
        """Make what is missing of it: its maker may have been killed, or somebody has removed a part."""
        for kind in KINDS:
            make_directory(self.path(kind))

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
            store = Store.join(self.path(STORES, os.path.basename(name)), lasting=True)
            if store is not None:
                return store
        return None

    def has(self, key: str, since: int = 0) -> bool:
        """Tell whether there is a store for a key, without coming to it, whose maker began since then."""
        directory = self.target(key)
        return os.path.isdir(directory or os.devnull) and began_in(directory) >= since

    def begin_filling(self, key: str, rest: int = REST) -> int | None:
        """Return a descriptor that tells everybody, while it is open, that a store for this key is being filled.

        None where somebody else does that, or has done it less than ``rest`` seconds ago. Raises OSError where no file
        can be locked there, and NoRoom where all was removed.
        """
        path = self.path(FILLING, key)
        try:
            descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        except FileNotFoundError:
            raise NoRoom(STOPPED) from None
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
            status = os.fstat(descriptor)
            # The clock may have been set back since.
            if status.st_size and 0 <= time.time() - status.st_mtime < rest:
                raise BlockingIOError
            # Whatever comes of it.
            os.pwrite(descriptor, b"1", 0)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as exc:
            os.close(descriptor)
            raise OSError(exc.errno, f"{path} cannot be locked and written to: {exc.strerror}") from None
        return descriptor

    def create(self, sizes: dict[str, int], options: "Options") -> Store:
        """Reserve a store, for which others that nobody uses make room. Raises NoRoom."""
        try:
            self.evict(sum(sizes.values()), options)
            return Store.create([self.path(STORES)], sizes, options.store_size)
        except (NoRoom, OSError):
            if os.path.isdir(self.path(STORES)):
                raise
            raise NoRoom(STOPPED) from None

    def evict(self, needed: int, options: "Options") -> None:
        """Remove stores that nobody uses, as far as they take room that is needed. Raises OSError."""
        idle = self.by_last_use()
        while idle and room(self.path(STORES), options.store_size, self.size()) < needed:
            self._remove_unless_used(idle.pop(0))

    def publish(self, key: str, store: Store, program: str, began: int) -> None:
        """Let later processes attach to a complete store, instead of to the one that there may be. Raises OSError.

        ``program``: for people, what it is a store for; ``began``: when the process did that has seen the tree.
        """
        store.lasting = True
        write_origin(store.directory, began)
        with open(store.path(PROGRAM), "x", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(program)
        share(store, self.path(OBJECTS))
        write_through(store.directory)
        before = self.target(key)
        fresh = self.path(PROGRAMS, f"{key}.{os.getpid()}")
        os.symlink(os.path.join("..", STORES, os.path.basename(store.directory)), fresh)
        os.rename(fresh, self.path(PROGRAMS, key))
        if before:
            self._remove_unless_used(before)

    def withdraw(self, key: str, store: Store) -> None:
        """Leave a store that is damaged, and let nobody else come to it. Raises OSError."""
        store.leave()
        if self.target(key) == store.directory:
            os.unlink(self.path(PROGRAMS, key))
        self._remove_unless_used(store.directory)

    def forget(self, directory: str) -> None:
        """Let nobody come to a store any more. Raises OSError."""
        for key in self.names(PROGRAMS):
            if self.target(key) == directory:
                os.unlink(self.path(PROGRAMS, key))
        self._remove_unless_used(directory)

    def want(self, key: str, modules: "Iterable[str]") -> None:
        """Have the next process see to another store for a key, which has these modules too. Raises OSError."""
        lines = "".join(f"{name}\n" for name in modules if name.isprintable())
        descriptor = open_regular(self.path(WANTED, key), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
        try:
            os.write(descriptor, lines.encode(errors="surrogateescape"))
        finally:
            os.close(descriptor)

    def is_wanted(self, key: str) -> bool:
        return os.path.exists(self.path(WANTED, key))

    def take_wanted(self, key: str) -> set[str]:
        """Return what is wanted for a key, which the caller sees to."""
        try:
            text = read_regular(self.path(WANTED, key)).decode(errors="surrogateescape")
            os.unlink(self.path(WANTED, key))
        except OSError:
            return set()
        return set(text.split("\n")) - {""}

    def size(self) -> int:
        """Return the bytes that all stores take. Raises OSError."""
        return size_of(*self.by_last_use())

    def idle_size(self) -> int:
        """Return the bytes of those stores alone that no process uses now. Raises OSError."""
        return self.size() - size_of(*filter(is_used, self.by_last_use()))

    def room(self, most: "Size") -> int:
        """Return the bytes that one more store may take: those that nobody uses make room. Raises OSError."""
        return room(self.path(STORES), most, self.size()) + self.idle_size()

    def stores(self) -> list[str]:
        """Return the directories of the stores that processes can attach to. Raises OSError."""
        found = {self.target(key) for key in self.names(PROGRAMS)}
        return [directory for directory in self.by_last_use() if directory in found]

    def expire(self, seconds: int) -> None:
        """Remove the stores that nobody has come to for so long, and those that no program leads to. Never raises."""
        try:
            wanted = {self.target(key) for key in self.names(PROGRAMS)}
            for directory in self.by_last_use():
                idle = time.time() - last_use(directory)
                if idle > seconds or (directory not in wanted and idle > SETTLING):
                    self._remove_unless_used(directory)
            remove_images(self.directory, seconds)
        except OSError:
            pass

    def _remove_unless_used(self, directory: str) -> None:
        remove_unless_used(directory)
        drop_unused(self.path(OBJECTS))

    def target(self, key: str) -> str:
        """Return the directory of the store for a key; empty where there is none."""
        try:
            return self.path(STORES, os.path.basename(os.readlink(self.path(PROGRAMS, key))))
        except OSError:
            return ""

    def by_last_use(self) -> list[str]:
        """Return the stores, first the one to which nobody has come for longest. Raises OSError."""
        found = [self.path(STORES, name) for name in self.names(STORES)]
        return sorted(filter(os.path.isdir, found), key=last_use)

    def names(self, kind: str) -> list[str]:
        try:
            return os.listdir(self.path(kind))
        except FileNotFoundError:
            return []


def _is_own(directory: str) -> bool:
    """Tell whether this is a directory that nobody but this user can have made, or put here."""
    try:
        status = os.lstat(directory)
        # One that was removed while a container has it mounted has no links left.
        is_directory = status.st_mode & 0o170000 == 0o040000 and status.st_nlink > 0
        is_own = is_directory and status.st_uid == os.geteuid() and not status.st_mode & 0o77
        return is_own and not who_may_rename(os.path.dirname(directory))
    except OSError:
        return False


def make_directory(directory: str) -> None:
    """Make it, if there is none yet. Raises OSError."""
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
