"""The lock of a store (flock(2)): a user of the store holds it shared, a process that removes it holds it alone."""

from errno import ELOOP

from .. import open, os, time
from ..c_functions import LOCK_EX, LOCK_NB, LOCK_SH, flock
from ..regular_file import open_regular
from .parents import who_may_rename

STORE_PREFIX = "mpiimport-"
# How a lock begins. By this a directory is known to be a store, or the place of a session's stores, and nothing else.
MARK = b"mpiimport store\n"
LOCK, NEW_LOCK = "lock", "lock.new"
# How the name ends that a store gets before its first file is removed: nobody is to find it by any other.
REMOVED = ".removed"
# What the names of sent snapshots have: see hooks/internal/process/snapshotsending.
SENT = ".snapshot"
# A store this old without a lock was left by a process that died within its first instants.
ABANDONED_SECONDS = 600
# More directories in each other than in any place of stores.
DEEPEST = 200


def sweep(parents: list[str]) -> None:
    """Remove this user's stores that no process uses: those of jobs that were killed. Never raises.

    So go snapshots that `mpiimport run` has sent to this node: what starts without them opens the library.
    """
    mine = own_prefix()
    for parent in parents:
        try:
            names = [] if who_may_rename(parent) else [name for name in os.listdir(parent) if name.startswith(mine)]
        except OSError:
            continue
        for name in names:
            _sweep_one(os.path.join(parent, name))


def own_prefix() -> str:
    """Return how the names of this user's stores begin; those that are locked otherwise than here differ in this."""
    return f"{STORE_PREFIX}{user()}."


def user() -> int:
    """Return the number of this user, as it is outside of the user namespace that this process may be in.

    user_namespaces(7), uid_map.
    """
    own = os.geteuid()
    try:
        with open("/proc/self/uid_map", "rb") as stream:
            ranges = [[int(word) for word in line.split()] for line in stream]
    except OSError:
        return own
    return next((outside + own - inside for inside, outside, size in ranges if inside <= own < inside + size), own)


def _sweep_one(directory: str) -> None:
    try:
        status = os.lstat(directory)
        if status.st_uid != os.geteuid():
            return
        is_old = status.st_mtime + ABANDONED_SECONDS < time.time()
        if SENT in directory and status.st_mode & 0o170077 == 0o100000 and is_old:
            os.unlink(directory)
        if status.st_mode & 0o170777 != 0o040700:
            return
        if is_marked(directory):
            remove_unless_used(directory)
        elif directory.endswith(REMOVED) or is_old:
            remove_begun(directory)
    except OSError:
        return


def is_marked(directory: str) -> bool:
    """Tell whether a directory has a lock as stores have it. Raises OSError."""
    try:
        lock = open_regular(os.path.join(directory, LOCK), os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        return os.read(lock, len(MARK)) == MARK
    finally:
        os.close(lock)


def remove_begun(directory: str) -> None:
    """Remove a directory that is about to become a store, or that nearly was removed: it holds no file but a lock.

    Raises OSError where it holds another.
    """
    names = os.listdir(directory)
    for name in names:
        if name != NEW_LOCK:
            os.rmdir(os.path.join(directory, name))
    if NEW_LOCK in names:
        os.unlink(os.path.join(directory, NEW_LOCK))
    os.rmdir(directory)


def new_lock(directory: str) -> int:
    """Create the lock file already locked: a sweeper must never find it free. Raises OSError."""
    fresh = os.path.join(directory, NEW_LOCK)
    lock = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        flock(lock, LOCK_SH | LOCK_NB)
    except OSError as exc:
        os.close(lock)
        raise OSError(exc.errno, f"no file can be locked there (flock: {exc.strerror})") from None
    try:
        os.write(lock, MARK)
        os.rename(fresh, os.path.join(directory, LOCK))
    except OSError:
        os.close(lock)
        raise
    return lock


def open_lock(directory: str) -> int:
    """Open the lock of a store. Raises OSError."""
    return open_regular(os.path.join(directory, LOCK), os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)


def is_used(directory: str) -> bool:
    """Tell whether some process uses a store, another than one that asks this."""
    try:
        lock = open_lock(directory)
    except OSError:
        return False
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def remove_if_unused(directory: str, lock: int) -> None:
    """Remove a store whose lock nobody else holds, and close ``lock``. Raises OSError.

    Nobody joins meanwhile. Where another holds it, what this process held of it is given up.
    """
    try:
        flock(lock, LOCK_EX | LOCK_NB)
        remove(directory)
    finally:
        os.close(lock)


def remove_unless_used(directory: str) -> None:
    """Remove a store, complete or not, or what is left of it, unless some process uses it. Never raises."""
    try:
        if directory.endswith(REMOVED):
            remove(directory)
        else:
            remove_if_unused(directory, open_lock(directory))
    except OSError:
        pass


def remove(directory: str) -> None:
    """Remove a store, or the place of a session's stores. Raises OSError.

    It gets another name first: nobody joins or adds to it any more, and what a process leaves that is killed meanwhile
    is known to be nobody's.
    """
    removed = directory.removesuffix(REMOVED) + REMOVED
    os.rename(directory, removed)
    _empty(removed, None, DEEPEST)
    os.rmdir(removed)


def _empty(directory: str, parent: int | None, depth: int) -> None:
    """Remove what is in a directory of an open one. Raises OSError, also where it is a link or too deep.

    A container may write there meanwhile: no path is looked up twice, so nothing elsewhere can come into its place.
    """
    if not depth:
        raise OSError(ELOOP, "is too deep to be one of our directories", directory)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        with os.scandir(descriptor) as entries:
            # By its lock a store is known up to its end.
            for entry in sorted(entries, key=lambda entry: entry.name == LOCK):
                if entry.is_dir(follow_symlinks=False):
                    _empty(entry.name, descriptor, depth - 1)
                    os.rmdir(entry.name, dir_fd=descriptor)
                else:
                    os.unlink(entry.name, dir_fd=descriptor)
    finally:
        os.close(descriptor)
