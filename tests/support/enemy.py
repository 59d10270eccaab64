"""Another user of the machine, who may rename what lies in a directory of theirs, or in one that all may write to."""

import ctypes
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

VICTIM, ENEMY = 54321, 54322
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange(one: Path, other: Path) -> None:
    """renameat2(2)."""
    done = ctypes.CDLL(None, use_errno=True).renameat2(
        AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE
    )
    assert done == 0, os.strerror(ctypes.get_errno())


def as_user(user: int) -> Callable[[], None]:
    """What a child process does to become a user."""

    def become() -> None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)

    return become


def reachable(directory: Path) -> Path:
    """Let all users come to a directory; nobody may rename on the way."""
    for path in (directory, *directory.parents):
        if path.stat().st_uid == os.geteuid() and not path.stat().st_mode & stat.S_IXOTH:
            path.chmod(0o755)
    return directory


def owned(path: Path, user: int, mode: int, group: int | None = None) -> Path:
    """Make a directory of a user's."""
    path.mkdir()
    os.chown(path, user, user if group is None else group)
    path.chmod(mode)
    return path


def alone(place: Path) -> None:
    """As a user's directory is."""


def private_group(place: Path) -> None:
    place.chmod(0o775)


def shared_group(place: Path) -> None:
    os.chown(place, VICTIM, 100)
    place.chmod(0o775)


def access_list(place: Path) -> None:
    """acl(5): user ENEMY may write; the mask shows in the bits of the group."""
    entries = ((1, 7, -1), (2, 7, ENEMY), (4, 5, -1), (16, 7, -1), (32, 5, -1))
    packed = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + (who & 0xFFFFFFFF).to_bytes(4, "little")
        for tag, rights, who in entries
    )
    try:
        os.setxattr(place, "system.posix_acl_access", packed)
    except OSError as exc:
        pytest.skip(f"no access lists here: {exc.strerror}")
    assert place.stat().st_mode & 0o777 == 0o775


def of_enemy(place: Path) -> None:
    os.chown(place, ENEMY, ENEMY)


def sticky_of_enemy(place: Path) -> None:
    of_enemy(place)
    place.chmod(0o1777)


def sticky_of_root(place: Path) -> None:
    os.chown(place, 0, 0)
    place.chmod(0o1777)


def open_to_all(place: Path) -> None:
    place.chmod(0o777)


# Directories of the victim's in which nobody else may rename, and those in which the enemy may.
SAFE = [alone, private_group, sticky_of_root]
OPEN = [open_to_all, shared_group, access_list, of_enemy, sticky_of_enemy]
