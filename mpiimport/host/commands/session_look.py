"""``mpiimport session look``: one look, by many threads, at the trees that this node's kept stores were made from.

`mpiimport run` puts it in front of a launcher, so that no rank has to look for itself.
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mpiimport.runtime.digest import Damaged
from mpiimport.runtime.listing import stamp_of
from mpiimport.runtime.store.images_beside import witnesses_in
from mpiimport.runtime.store.index import Index, generation
from mpiimport.runtime.store.launch_look import LOOKED_BY_LAUNCH, in_one_text
from mpiimport.runtime.store.place import IMAGE, Place
from mpiimport.runtime.store.store import PROGRAM
from mpiimport.runtime.store.witnesses import WITNESSES, Witnesses
from mpiimport.warm.image_format import CHECKSUM_AT, HEADER

from ..complaint import Complaint
from .becoming import become
from .launch_line import words_of_ranks

THREADS = 16


@dataclass(frozen=True)
class Look:
    """What came of the look at one store. ``changed``: the paths that are not as they were."""

    store: Path
    generation: str
    changed: list[str]


def look(place: Place) -> list[Look]:
    """Look at everything that the stores of a place speak of, each path once.

    What a container has filled can only be looked at in it, and is left out.
    """
    stores = [(Path(store), *read) for store in place.stores() if (read := _read(Path(store))) is not None]
    paths = list({path for _, _, witnesses in stores for path in witnesses.seen})
    with ThreadPoolExecutor(THREADS) as threads:
        present = dict(zip(paths, threads.map(stamp_of, paths), strict=True))
    return [
        Look(
            store,
            name,
            [path for path, stamp in known.seen.items() if present[path] != stamp] + known.changed_otherwise(),
        )
        for store, name, known in stores
    ]


def _read(store: Path) -> tuple[str, Witnesses] | None:
    """Return a store's generation and witnesses; None where there is nothing to look at from here."""
    if (store / IMAGE).exists():
        return _read_image(store)
    try:
        packed = (store / "index").read_bytes()
        index = Index.unpack(packed)
        witnesses = Witnesses.unpack((store / WITNESSES).read_bytes(), index.witnesses)
    except (OSError, Damaged):
        # Removed meanwhile, damaged, or written by a Python whose digests are others.
        return None
    return None if index.mounts or witnesses.of_image else (generation(packed), witnesses)


def _read_image(store: Path) -> tuple[str, Witnesses] | None:
    """Return the same of a warm image: its generation is the checksum of its tables, as warm/key.c compares it."""
    try:
        with (store / IMAGE).open("rb") as stream:
            checksum = int.from_bytes(stream.read(HEADER.size)[CHECKSUM_AT:][:8], "little")
    except OSError:
        return None
    witnesses = witnesses_in(str(store))
    return (f"{checksum:016x}", witnesses) if witnesses.seen else None


def run(command: list[str], find_place: Callable[[], Place | None], ignored: list[int]) -> int:
    """Look, tell the ranks that a command starts, and become it, whatever comes of the look. See ``become``."""
    began = time.time()
    try:
        place = find_place()
        told = _told(look(place), command, began) if place is not None else ""
    except (Complaint, OSError):
        # What is wrong with options the ranks say, and look for themselves.
        told = ""
    return become(command, {**os.environ, LOOKED_BY_LAUNCH: told}, ignored)


def _told(found: list[Look], command: list[str], began: float) -> str:
    """Name what has changed on standard error, and return what the ranks are told. Raises OSError."""
    said_of = {program_of(one.store) for one in found if not one.changed}
    for one in found:
        program = program_of(one.store)
        # Of a program there may be stores for several doors or environments, and an image.
        if one.changed and program not in said_of:
            said_of.add(program)
            said = f"{one.changed[0]} has changed since the store of {program} was filled; it is not used"
            print(f"mpiimport: {said}", file=sys.stderr)
    words = words_of_ranks(command)
    told = {one.generation: not one.changed for one in found if one.changed or words is not None}
    return in_one_text(told, words or [], began)


def program_of(store: Path) -> str:
    """Return what a store is for, as it may be printed. Raises OSError."""
    return ascii((store / PROGRAM).read_text(encoding="utf-8", errors="surrogateescape"))[1:-1]
