"""Directories in which nobody but this user and root can put another entry in the place of one: only there lie stores.

Elsewhere another user's directory could come into the place of a store between two looks at it, and one of this user's
could get the name of a store (renameat2(2), RENAME_EXCHANGE). In Go: hooks/internal/leaves/storecache; in C:
restorer/regular.c.
"""

from errno import ELOOP, ENODATA, EOPNOTSUPP

from .. import os

KIND, DIRECTORY, LINK = 0o170000, 0o040000, 0o120000
# The rights to write of a group and of all others, and the bit by which only the owner of an entry renames it.
GROUP, OTHERS, STICKY = 0o020, 0o002, 0o1000
# Whoever owns the first has the program itself, and libc. The second shows as whose the files of the machine's root
# appear: in a user namespace that does not have this root they seem to be nobody's.
TOP, OF_MACHINE = "/", "/proc/sys"
ACCESS_LIST = "system.posix_acl_access"
# As the kernel's own limit (path_resolution(7)).
MOST_LINKS = 40


def who_may_rename(path: str) -> str:
    """Return why somebody else could rename what is in a directory, or a directory above it; empty where nobody can.

    Links are followed, and count with the directory that they lie in. Raises OSError where there is no such directory.
    """
    machine = _owner(OF_MACHINE)
    trusted = {os.geteuid(), 0, machine, _owner(TOP)}
    place, rest, links = TOP, path.split("/")[::-1], 0
    while rest:
        name = rest.pop()
        step = os.path.normpath(os.path.join(place, name))
        if step == place or name == "..":
            place = step
            continue
        status = os.lstat(step)
        if status.st_uid not in trusted:
            return f"{step} belongs to user {status.st_uid}"
        if status.st_mode & KIND == LINK:
            links += 1
            if links > MOST_LINKS:
                raise OSError(ELOOP, os.strerror(ELOOP), path)
            target = os.readlink(step)
            place = TOP if target.startswith("/") else place
            rest += target.split("/")[::-1]
            continue
        if status.st_mode & KIND == DIRECTORY and _is_open(step, status, machine):
            return f"others may rename what is in {step} (mode {status.st_mode & 0o7777:o})"
        place = step
    return ""


def refusals(directories: list[str]) -> list[str]:
    """Return a reason for each of the directories in which somebody else could rename."""
    return list(filter(None, map(who_may_rename, filter(os.path.exists, directories))))


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return 0


def _is_open(directory: str, status: "os.stat_result", machine: int) -> bool:
    """Tell whether others than its owner may rename what is in a directory.

    A group that has the number of the owner is the owner's own, as systems make them that let it write (login.defs(5),
    USERGROUPS_ENAB). In a user namespace numbers may be mapped; behind the bits of a group an access list may stand.
    """
    if not status.st_mode & (GROUP | OTHERS) or status.st_mode & STICKY:
        return False
    is_private = not status.st_mode & OTHERS and status.st_gid == status.st_uid and not machine
    return not is_private or _has_access_list(directory)


def _has_access_list(directory: str) -> bool:
    try:
        os.getxattr(directory, ACCESS_LIST)
    except OSError as exc:
        return exc.errno not in (ENODATA, EOPNOTSUPP)
    return True
