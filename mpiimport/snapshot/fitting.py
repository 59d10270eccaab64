"""Whether an image that another node has made fits this one, and its files."""

import os
import stat
import subprocess
from functools import cache
from pathlib import Path

from mpiimport.runtime.file_systems import DISKS, file_system
from mpiimport.runtime.listing import link_stamp_of, stamp_of
from mpiimport.runtime.store.place import IMAGE
from mpiimport.runtime.store.witnesses import Witnesses

from .checking import digest_of
from .image_format import ABSENT, IS_DIRECTORY, LINK, OF_TREE, Damaged, Tables, open_image

BIN = Path(__file__).resolve().parents[3] / "bin"
DOOR, STARTER = BIN / "python-mpi", BIN / "mpiimport-warm"
SECONDS = 60
# What each node may have written by itself.
WRITTEN_HERE = "__pycache__"


def why_not_started(store: Path, program: list[str], *options: str) -> str:
    """Return why a process like this one would not start a program from the image in a store; empty where it would.

    ``options``: of the starter. Raises OSError and SubprocessError.
    """
    command = [str(STARTER), "--door", str(DOOR), *options, "--look", str(store), *program]
    looked = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    if looked.returncode == 0:
        return ""
    return looked.stderr.strip() or f"{STARTER.name} ended with status {looked.returncode}"


def tables_of(image: Path) -> Tables:
    """Return the tables of an image. Raises OSError and Damaged."""
    with open_image(image) as stream:
        return Tables(stream, digest_of())


def why_not_here(store: Path, program: list[str]) -> str:
    """Return why no process of this node could start a program from the image in a store; empty where all could."""
    try:
        reason = why_not_started(store, program, "--trusted")
        if reason:
            return reason
        tables = tables_of(store / IMAGE)
    except (OSError, subprocess.SubprocessError, Damaged) as exc:
        return repr(exc)
    for name, _, inode, size, mtime, _, how, _ in tables.rows("files"):
        path = os.fsdecode(tables.text(name))
        if _is_on_disk(os.path.dirname(path)) and not _is_alike(path, how, inode != ABSENT, size, mtime):
            return f"{path} is another"
    return ""


def witnesses_of(tables: Tables) -> Witnesses:
    """Return what the files of an image are like on this node. Those of a container's own tree cannot be looked at from
    elsewhere: then there are none.
    """
    found = Witnesses()
    for name, device, inode, size, mtime, ctime, how, _ in tables.rows("files"):
        path = os.fsdecode(tables.text(name))
        if device == OF_TREE:
            return Witnesses()
        if how == IS_DIRECTORY:
            found.directories.append(path)
            continue
        seen, look = (found.links, link_stamp_of) if how == LINK else (found.seen, stamp_of)
        if inode == ABSENT:
            seen[path] = None
        else:
            seen[path] = look(path) if _is_on_disk(os.path.dirname(path)) else (mtime, ctime, size, inode)
    return found


@cache
def _is_on_disk(directory: str) -> bool:
    """Tell whether each node may have files of its own there."""
    return file_system(os.path.realpath(directory)) in DISKS


def _is_alike(path: str, how: int, was_there: bool, size: int, mtime: int) -> bool:
    """Tell whether a file, link or directory is a copy of that on the other node, as `cp -a` and archives make them.

    What Python has written is passed over. The size of a directory says nothing.
    """
    if how == IS_DIRECTORY:
        return os.path.isdir(path)
    if WRITTEN_HERE in path.rsplit("/", 2)[1:]:
        return True
    try:
        status = os.stat(path, follow_symlinks=how != LINK)
    except OSError:
        return not was_there
    sizes_differ = status.st_size != size and not stat.S_ISDIR(status.st_mode)
    return was_there and not sizes_differ and status.st_mtime_ns == mtime
