"""What a snapshot must not go by that all users may start from: their home directories, and what only some may do.

It is made without a home directory. A start has its own: see restore/resume.py.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from mpiimport.runtime.store.parents import has_access_list

from ..memory_map import Refused
from .observations import OF_PROCESS

# proc(5), status: capabilities that are in effect.
IN_EFFECT = "CapEff:"
# What systems name as the home of a user that has none.
NO_HOME = "/nonexistent"
# Where ``site`` looks for packages of the user.
OF_SITE = re.compile(re.escape(NO_HOME) + r"/\.local/lib/python[^/]*/site-packages")
READ, EXECUTE = 0o444, 0o111


def refuse_own_ways(environment: Mapping[str, str]) -> None:
    """Raise Refused where the maker may do more than users, or has them search packages somewhere else."""
    with open("/proc/self/status") as stream:
        found = next(int(line.split()[1], 16) for line in stream if line.startswith(IN_EFFECT))
    if found:
        raise Refused("not for all users: prepare it as an ordinary user; this one is root, or has capabilities")
    if environment.get("PYTHONUSERBASE"):
        raise Refused("not for all users: PYTHONUSERBASE names packages of a user; name them in PYTHONPATH")


def refuse_private(paths: Iterable[str]) -> None:
    """Raise Refused for a path where not all users find what imports have found."""
    for path in sorted(paths):
        if path.startswith(NO_HOME + "/") and not OF_SITE.fullmatch(path):
            raise Refused(f"not for all users: it looks for {path.removeprefix(NO_HOME + '/')} in the home directory")
        for place in {path, os.path.realpath(path)}:
            private = next((each for each in (Path(place), *Path(place).parents) if _is_private(each, place)), None)
            if private is not None:
                raise Refused(
                    f"not for all users: imports look at {path}, and not all may read {private} or execute it, or an "
                    "access list of it says which ones"
                )


def _is_private(path: Path, whole: str) -> bool:
    """Tell whether not all users can do the same with a file, or reach what is in a directory. ``whole``: what is read,
    the path or something in it."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if str(path).startswith(OF_PROCESS) or not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        return False
    needed = EXECUTE if stat.S_ISDIR(mode) else 0
    needed |= READ if str(path) == whole else 0
    is_uneven = stat.S_ISREG(mode) and mode & EXECUTE not in (0, EXECUTE)
    return mode & needed != needed or is_uneven or has_access_list(str(path))
