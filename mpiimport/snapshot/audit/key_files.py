"""Which files an image goes by: what each start must find as imports found it."""

import os
from collections.abc import Collection, Iterable
from importlib.util import source_from_cache
from pathlib import Path

from ..image_format import KIND, LINK, STAMP
from .causes import Causes
from .observations import OF_PROCESS

# Path, and what of it must be as it was.
File = tuple[bytes, int]
CACHE = "/__pycache__/"
# What bytecode says of itself that is believed whatever its source is: see PEP 552.
UNCHECKED = b"\1\0\0\0"


def key_files(asked: Causes, compared: Collection[str] = ()) -> set[tuple[str, int]]:
    """Return paths, with what of each must be as it was, so that imports would see what they saw.

    Directories that were listed say what is in them, so nothing that was absent there need be looked for. For bytecode
    its source stands: see _is_of_source. A directory that was not listed, and a device, must be one with the same
    rights.
    Of directories that are ``compared`` by each start otherwise, listings do not count.
    """
    listed = {path for path in asked.opened if os.path.isdir(path)}.difference(compared)
    measured = {path for path in asked.measured if path.startswith("/")}
    present = {path for path, there in asked.files.items() if there} | asked.refused
    cached = {path for path in present if CACHE in path and _is_of_source(path, present)}
    cached |= {each for each in {os.path.dirname(path) for path in cached} if each not in listed}
    present -= cached
    found = {(path, STAMP) for path in (listed | measured) - cached}
    for path in present:
        if os.path.islink(path) and (path in asked.links or os.path.isdir(path)):
            found.add((path, LINK))
        if not os.path.isdir(path):
            found.add((path, KIND if path.startswith(OF_PROCESS) else STAMP))
        elif path not in listed:
            found.add((os.path.realpath(path), KIND))
    for path, there in asked.files.items():
        if CACHE in path and _source(path) in present:
            continue
        dangling = os.path.islink(path)
        if not there and not os.path.exists(path) and (dangling or os.path.dirname(path) not in listed):
            found.update([(path, STAMP), *([(path, LINK)] if path in asked.links else [])])
    return found


def stamp(path: str, how: int = STAMP) -> tuple[int, ...]:
    """Return what ``how`` says of a path; empty where there is none."""
    try:
        status = os.stat(path) if how == STAMP else os.lstat(path)
    except OSError:
        return ()
    if how == KIND:
        return status.st_mode, status.st_uid, status.st_gid
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def packed(files: Iterable[tuple[str, int]]) -> list[File]:
    """Return the files for the image's writer."""
    return sorted((os.fsencode(path), how) for path, how in files)


def _is_of_source(cached: str, present: Collection[str]) -> bool:
    """Tell whether it is enough to compare its source: while that is unchanged, Python takes the same code from it.

    A source that was written after its bytecode may have been changed within the second that the bytecode names.
    """
    source = _source(cached)
    try:
        with open(cached, "rb") as stream:
            flags = stream.read(16)[4:8]
            return source in present and flags != UNCHECKED and _written(cached) > _written(source)
    except OSError:
        return False


def _written(path: str) -> int:
    return os.stat(path).st_mtime_ns


def _source(cached: str) -> str:
    try:
        return source_from_cache(cached)
    except ValueError:
        return str(Path(cached).parent.parent / f"{Path(cached).name.split('.')[0]}.py")
