"""A warm image among the kept stores.

    publishing.py publish DIRECTORY STATUS SENT BEGAN SINCE KEPT PYTHON OPTIONS... PROGRAM [ARGUMENTS]
    publishing.py make STORE KEPT PYTHON OPTIONS... PROGRAM [ARGUMENTS]

A process that was asked to fill a kept store becomes the first. DIRECTORY is the place of those stores; STATUS the one
to end with where all goes well; SENT a store with an image that was made for all nodes; BEGAN when that process began;
SINCE when another must have begun, so that its image is taken, too (ns since the epoch; 0: at any time); KEPT the key
of the program's kept store, - if there is none; PYTHON the name by which the door starts Python, - for its usual ones;
OPTIONS are the interpreter's, and PROGRAM is a script, or -m and a module. The second one makes the image for all
nodes, in a store of that place.
"""

import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGES))

from mpiimport.rank_variables import speaks_for_job  # noqa: E402
from mpiimport.runtime.digest import digest  # noqa: E402
from mpiimport.runtime.options import from_environment  # noqa: E402
from mpiimport.runtime.program import Program  # noqa: E402
from mpiimport.runtime.regular_file import read_regular  # noqa: E402
from mpiimport.runtime.size import in_words  # noqa: E402
from mpiimport.runtime.startup.keeping import LOOK_AGAIN  # noqa: E402
from mpiimport.runtime.startup.warm_image import MAKE, NONE  # noqa: E402
from mpiimport.runtime.store.images_beside import BESIDE, OF_BASE  # noqa: E402
from mpiimport.runtime.store.nearest import FACTS  # noqa: E402
from mpiimport.runtime.store.place import (  # noqa: E402
    BASE,
    FILLING,
    HEAD,
    HEAD_DIRECTORY,
    IMAGE,
    LEASE,
    PROGRAMS,
    REACH,
    REFUSED,
    STOPPED,
    Place,
)
from mpiimport.runtime.store.store import NoRoom, Store  # noqa: E402
from mpiimport.runtime.store.witnesses import WITNESSES  # noqa: E402
from mpiimport.snapshot.describing import described, reach  # noqa: E402
from mpiimport.snapshot.door import Key, command_of, key_of, program_of  # noqa: E402
from mpiimport.snapshot.fitting import tables_of, why_not_here, witnesses_of  # noqa: E402
from mpiimport.snapshot.maker import Made, make  # noqa: E402
from mpiimport.snapshot.memory_map import Refused  # noqa: E402


@dataclass(frozen=True)
class Request:
    """``began``, ``since``: see above; ``kept``: the key of the program's kept store, if there is one."""

    began: int
    since: int
    kept: str


def publish(place: Place, sent: str, asked: Request, name: str, words: list[str]) -> str:
    """Let whoever comes start from the image of a program, or see why there is none. Return what to say.

    ``sent``: the store with what was made for all nodes, if it has come; where that does not fit, this node makes its
    own. ``name``: that of Python; ``words``: the interpreter's options, the script or -m and the module, and its
    arguments. Where another process of this node makes it, this one waits, and there is nothing to say. Raises Refused,
    where there is no image.
    """
    # Nobody can come to what was sent: a sweep takes it unless it is used, and it goes with this process if it is not
    # published.
    store = Store.join(sent) if sent != NONE else None
    try:
        return _publish(place, store, asked, name, words)
    finally:
        if store is not None:
            store.leave()


def _publish(place: Place, store: Store | None, asked: Request, name: str, words: list[str]) -> str:
    command, looked_at = command_of(name, words)
    place.complete()
    known = key_of(name, command[1:])
    key = known.program
    if from_environment().session and os.path.lexists(place.path(PROGRAMS, key)):
        # For the session of a command the tree is as it was.
        return ""
    link = Path(place.path(PROGRAMS, key))
    before = link.resolve()
    filling = place.begin_filling(key, rest=0)
    while filling is None:
        time.sleep(LOOK_AGAIN)
        filling = place.begin_filling(key, rest=0)
    try:
        if (asked.since or link.resolve() != before) and place.has(key, asked.since):
            # Another process of this node has made it. One that began earlier may have seen another tree.
            _raise_refused(link)
            return ""
        place.sweep(LEASE)
        if store is not None and _take(place, known, asked, store, command):
            return ""
        return _fill(place, known, asked, command, looked_at, filling)
    finally:
        # For those that find none, and are told what differs.
        with suppress(OSError):
            (link / FACTS).write_text(known.facts)
        os.close(filling)


def make_for_all(directory: str, kept: str, name: str, words: list[str]) -> str:
    """Make the image of a script, or write down why there is none, in a store that other nodes get, too.

    Return what to say. Raises Refused. ``kept``: as for Request; ``name``, ``words``: as for ``publish``.
    """
    store = Store.join(directory, kept=True)
    if store is None:
        raise Refused(f"{directory} has gone")
    command, looked_at = command_of(name, words)
    made = _make(store, kept, command, looked_at)
    return _said(command, made, "made")


def _take(place: Place, known: Key, asked: Request, store: Store, command: list[str]) -> bool:
    """Publish what another node has made; tell whether it fits this one. Raises Refused, where it has no image."""
    refused = os.path.exists(store.path(REFUSED))
    why = "" if refused else why_not_here(Path(store.directory), program_of(command))
    if why:
        print(f"mpiimport: the warm image of another node does not fit {os.uname().nodename}: {why}", file=sys.stderr)
        return False
    _complete(store, asked.kept)
    place.publish(known.program, store, _identity(command), asked.began, _key_of_begin(known, store))
    _raise_refused(Path(store.directory))
    return True


def _raise_refused(store: Path) -> None:
    """Raise Refused where a store has no image, but a reason."""
    if (store / REFUSED).exists():
        raise Refused(os.fsdecode(read_regular(str(store / REFUSED))))


def _complete(store: Store, kept: str) -> None:
    """Put beside an image what whoever looks at it has to know. Raises OSError and Damaged.

    Its libraries are mapped by names of their own, which are hard links.
    """
    if not os.path.exists(store.path(IMAGE)):
        return
    if kept != NONE:
        Path(store.path(BESIDE)).write_text(kept)
    for image, witnesses in ((IMAGE, WITNESSES), (BASE, OF_BASE)):
        if os.path.exists(store.path(image)):
            tables = tables_of(Path(store.path(image)))
            Path(store.path(witnesses)).write_bytes(witnesses_of(tables).pack())
            for (at,) in tables.rows("names"):
                name = store.path(os.fsdecode(tables.text(at)))
                os.makedirs(os.path.dirname(name), 0o700)
                os.link(store.path(image), name)


def _fill(place: Place, known: Key, asked: Request, command: list[str], looked_at: list[str], filling: int) -> str:
    try:
        store = place.create({}, from_environment())
    except (NoRoom, OSError) as exc:
        raise Refused(STOPPED if _is_stopped(place, known.program, filling) else str(exc)) from None
    key = known.program
    try:
        try:
            made = _make(store, asked.kept, command, looked_at)
        finally:
            _complete(store, asked.kept)
            if _is_stopped(place, key, filling):
                raise Refused(STOPPED)
            if os.path.exists(store.path(IMAGE)) or os.path.exists(store.path(REFUSED)):
                place.publish(key, store, _identity(command), asked.began, _key_of_begin(known, store))
    finally:
        store.leave()
    return _said(command, made, "kept")


def _identity(command: list[str]) -> str:
    return Program.parse(program_of(command)).identity()


def _key_of_begin(known: Key, store: Store) -> str:
    """Return the key by which scripts find a snapshot that begin as this one does; nothing where it is for one."""
    try:
        head = Path(store.path(HEAD)).read_bytes()
    except FileNotFoundError:
        return ""
    return f"{known.begin}.{digest(head).hex()}" if known.begin else ""


def _is_stopped(place: Place, key: str, filling: int) -> bool:
    """Tell whether all stores have been removed since ``filling``, the descriptor of ``begin_filling``, is open."""
    try:
        return not os.path.samestat(os.fstat(filling), os.stat(place.path(FILLING, key)))
    except OSError:
        return True


def _said(command: list[str], made: Made, done: str) -> str:
    size = f"{len(made.full.verdict.modules)} modules, {in_words(made.full.size)}"
    return f"a snapshot of {_identity(command)} is {done}: {size}; {reach(made.full.verdict)}"


def _make(store: Store, kept: str, command: list[str], looked_at: list[str]) -> Made:
    """Make the image in a store. Raises Refused, the reason being there then."""
    try:
        if not store.executable:
            raise Refused(
                f"nothing in {store.directory} can be executed (noexec); name another directory, MPIIMPORT_STORE"
            )
        try:
            place = Path(store.directory).parents[1]
            made = make(
                Path(store.path(IMAGE)), command, place=place, files=looked_at, kept=kept if kept != NONE else ""
            )
        except (OSError, subprocess.SubprocessError) as exc:
            raise Refused(repr(exc)) from None
    except Refused as exc:
        Path(store.path(REFUSED)).write_text(str(exc), errors="surrogateescape")
        raise
    Path(store.path(REACH)).write_text("\n".join(described(IMAGE, made)), errors="surrogateescape")
    head, directory = made.shared
    if head:
        Path(store.path(HEAD)).write_bytes(head)
    if directory:
        Path(store.path(HEAD_DIRECTORY)).write_bytes(os.fsencode(directory))
    return made


def main(what: str, *words: str) -> int:
    """Do what the first word says, say what came of it, and return the exit status."""
    try:
        if what == MAKE:
            directory, kept, python, *command = words
            said, ended = make_for_all(directory, kept, python, command), 0
        else:
            directory, status, sent, began, since, kept, python, *command = words
            asked = Request(int(began), int(since), kept)
            said, ended = publish(Place(directory), sent, asked, python, command), int(status)
    except Refused as exc:
        # Whoever publishes what was made for all says it.
        said, ended = f"no warm image is kept: {exc}" if what != MAKE else "", 1
    except KeyboardInterrupt:
        return 1
    except Exception as exc:
        said, ended = f"no warm image is kept: {exc or type(exc).__name__}", 1
    # Of several ranks of a node one makes it, whichever comes first; why there is none they all see.
    if said and (speaks_for_job(os.environ) or not ended):
        print(f"mpiimport: {said}", file=sys.stderr)
    return ended


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
