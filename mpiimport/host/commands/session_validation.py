"""``mpiimport session validate``: one validation, by many threads, of what this node's cached stores depend on.

`mpiimport run` puts it in front of a launcher, so that no rank validates by itself.
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
from mpiimport.runtime.regular_file import read_regular
from mpiimport.runtime.store.cache import Cache
from mpiimport.runtime.store.dependencies import DEPENDENCIES, Dependencies, of_another_image
from mpiimport.runtime.store.index import Index, generation
from mpiimport.runtime.store.launch_validation import VALIDATED_BY_LAUNCH, in_one_text
from mpiimport.runtime.store.origin import is_seen_from_here
from mpiimport.runtime.store.store import PROGRAM

from ..complaint import Complaint
from .becoming import become
from .launch_line import words_of_ranks
from .session_command import Command, command_of
from .snapshot_validation import VALIDATED, validate_snapshots

THREADS = 16


NOT_BY_COMMAND = "the command of session start did not come to it"
NO_COMMAND = "no session start has filled it on this node"


@dataclass(frozen=True)
class Validation:
    """What the validation of one store has found. ``changed``: the paths that are not as they were."""

    store: Path
    generation: str
    changed: list[str]


@dataclass(frozen=True)
class Found:
    """What is known of a store: ``stale``, why it is not true any more; ``unseen``, why nobody can say that."""

    store: Path
    stale: str = ""
    unseen: str = ""


def validate_from_anywhere(cache: Cache) -> list[Found]:
    """Validate all stores of a cache: those that are not seen from here by the commands that have filled them."""
    here = validate(cache)
    stale = {one.store: f"{one.changed[0]} has changed since" for one in here if one.changed}
    found = [Found(store, stale.get(store, "")) for store in dict.fromkeys(one.store for one in here)]
    by_command: dict[str, list[Path]] = {}
    for store in map(Path, cache.stores()):
        if store not in {one.store for one in here}:
            by_command.setdefault(command_of(store), []).append(store)
    for command, stores in by_command.items():
        answers = Command.read(command).validate(stores) if command else dict.fromkeys(stores)
        why = NOT_BY_COMMAND if command else NO_COMMAND
        found += [Found(store, answer or "", why if answer is None else "") for store, answer in answers.items()]
    return found


def validate(cache: Cache) -> list[Validation]:
    """Validate the stores of a cache, each path once.

    Those that a container or another Python has filled can be validated only by it: they are not in the answer.
    """
    stores = [(Path(store), *read) for store in cache.stores() for read in _read(Path(store))]
    paths = list({path for _, _, dependencies in stores for path in dependencies.seen})
    with ThreadPoolExecutor(THREADS) as threads:
        present = dict(zip(paths, threads.map(stamp_of, paths), strict=True))
    found = []
    for store, name, known in stores:
        changed = [path for path, stamp in known.seen.items() if present[path] != stamp]
        found.append(Validation(store, name, [*changed, *of_another_image(known.of_image)]))
    return found


def _read(store: Path) -> list[tuple[str, Dependencies]]:
    """Return a store's generation and dependencies; nothing where it cannot be validated here."""
    if not is_seen_from_here(str(store)):
        return []
    try:
        packed = read_regular(str(store / "index"))
        dependencies = Dependencies.unpack(read_regular(str(store / DEPENDENCIES)), Index.unpack(packed).dependencies)
    except (OSError, Damaged):
        # Removed meanwhile, damaged, or written by a Python whose digests are others.
        return []
    return [(generation(packed), dependencies)]


def run(command: list[str], find_cache: Callable[[], Cache | None], ignored: list[int]) -> int:
    """Validate, hand the answer to the ranks that a command starts, and become it. See ``become``."""
    began = time.time()
    words = words_of_ranks(command)
    try:
        cache = find_cache()
        answer = _answer(validate(cache), words, began) if cache is not None else ""
    except (Complaint, OSError):
        # What is wrong with options the ranks say, and validate by themselves.
        answer = ""
    answers = {VALIDATED_BY_LAUNCH: answer, VALIDATED: validate_snapshots(words or [])}
    return become(command, {**os.environ, **answers}, ignored)


def _answer(found: list[Validation], words: list[str] | None, began: float) -> str:
    """Name what has changed on standard error, and return what the ranks get. Raises OSError."""
    said_of = {program_of(one.store) for one in found if not one.changed}
    for one in found:
        program = program_of(one.store)
        # Of a program there may be stores for several entry points or environments.
        if one.changed and program not in said_of:
            said_of.add(program)
            said = f"{one.changed[0]} has changed since the store of {program} was filled; it is not used"
            print(f"mpiimport: {said}", file=sys.stderr)
    valid = {one.generation: not one.changed for one in found if one.changed or words is not None}
    return in_one_text(valid, words or [], began)


def program_of(store: Path) -> str:
    """Return what a store is for, as it may be printed. Raises OSError."""
    return ascii(os.fsdecode(read_regular(str(store / PROGRAM))))[1:-1]
