"""Why this user's cached stores can lie nowhere."""

from .. import os
from .cache_names import candidates
from .parents import who_may_rename


def why_no_place(parents: list[str], session: str = "") -> str:
    """Return why stores can be kept in none of the directories, with the remedy; empty where they can be in one."""
    reasons = [_refusal(directory) for directory in candidates(parents, session)]
    return "" if "" in reasons else f"{'; '.join(reasons)}; name another directory with MPIIMPORT_STORE"


def _refusal(directory: str) -> str:
    parent = os.path.dirname(directory)
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        if not os.access(parent, os.W_OK | os.X_OK):
            return f"{parent} cannot be written to"
        return who_may_rename(parent)
    except OSError as exc:
        return f"{directory} cannot be looked at: {exc.strerror}"
    if status.st_uid != os.geteuid():
        return f"{directory} belongs to user {status.st_uid}"
    is_own = status.st_mode & 0o170000 == 0o040000 and not status.st_mode & 0o77
    return who_may_rename(parent) if is_own else f"{directory} is no directory that only its owner can use"
