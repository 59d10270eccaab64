"""``mpiimport session start|run|status|refresh|stop|sweep``: the stores that this user keeps on this node."""

import argparse
import os
import sys
import time
from pathlib import Path

from mpiimport.runtime.file_systems import wait_for_rest
from mpiimport.runtime.listing import stamp_of
from mpiimport.runtime.options import OptionError, Options, from_environment
from mpiimport.runtime.size import in_words
from mpiimport.runtime.store.cache import Cache
from mpiimport.runtime.store.cache_names import batch_job
from mpiimport.runtime.store.cache_removal import NotOurs, remove_cache
from mpiimport.runtime.store.entry import last_use, size_of, uses
from mpiimport.runtime.store.image_caches import IMAGES, places_of_images
from mpiimport.runtime.store.lock import LOCK, sweep
from mpiimport.runtime.store.no_cache import why_no_place
from mpiimport.runtime.store.store import PROGRAM

from ..complaint import Complaint
from . import session_run, session_validation
from .filling_line import with_entry_point
from .session_command import Command, command_of

LOCKS = Path("/proc/locks")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("session").add_subparsers(required=True, metavar="ACTION")
    parser = kinds.add_parser("start", help="fill the store of the program that the command behind -- starts")
    parser.set_defaults(run=lambda given, command: start(command), takes_command=True)
    parser = kinds.add_parser("run", help="run the command behind --, whose processes keep stores until it ends")
    # `mpiimport run --session` says it.
    parser.add_argument("--ignoring", type=int, nargs="*", default=[], help=argparse.SUPPRESS)
    parser.set_defaults(run=_run, takes_command=True)
    parser = kinds.add_parser("validate", help="validate once, for all ranks that the launcher behind -- starts")
    parser.add_argument("--ignoring", type=int, nargs="*", default=[], help=argparse.SUPPRESS)
    parser.set_defaults(
        run=lambda given, command: session_validation.run(command, node_cache, given.ignoring), takes_command=True
    )
    parser = kinds.add_parser("status", help="list the stores")
    parser.set_defaults(run=lambda given, command: status())
    parser = kinds.add_parser("refresh", help="where the tree has changed, fill anew what session start has filled")
    parser.set_defaults(run=lambda given, command: refresh())
    parser = kinds.add_parser("stop", help="remove the stores; status 1 where processes still use some")
    parser.set_defaults(run=lambda given, command: stop())
    parser = kinds.add_parser("sweep", help="remove what processes of yours that were killed have left on this node")
    parser.set_defaults(run=lambda given, command: _sweep())


def _run(given: argparse.Namespace, command: list[str]) -> int:
    return session_run.run(command, _options().store_places(), given.ignoring)


def _sweep() -> int:
    sweep(_options().store_places())
    return 0


def start(words: list[str]) -> int:
    """Start a command so that its program has its store filled, and is not run. Raises Complaint."""
    environment = with_entry_point(words, asking_to_fill("no store would be filled"))
    cache = node_cache()
    if cache is not None:
        _forget_changed(cache)
    return _fill(Command(words, environment, str(Path.cwd())))


def asking_to_fill(else_: str) -> dict[str, str]:
    """Return the environment in which programs fill a store, or have a snapshot made, and are not run.

    ``else_``: what would come of it if mpiimport is switched off. Raises Complaint then.
    """
    if os.environ.get("MPIIMPORT") == "0":
        raise Complaint(f"MPIIMPORT=0 switches everything off, so {else_}; unset it")
    return {**os.environ, "MPIIMPORT_FILL": "1", "MPIIMPORT": os.environ.get("MPIIMPORT") or "1"}


def _forget_changed(cache: Cache) -> None:
    """Let no process come to stores that are no longer true, as seen from here, until their tree has come to rest."""
    changed = [one for one in session_validation.validate(cache) if one.changed]
    for one in changed:
        cache.forget(str(one.store))
    # What has just changed is not kept: see payload/stamps.py.
    stamps = {path: stamp_of(path) for one in changed for path in one.changed}
    wait_for_rest({path: stamp[1] for path, stamp in stamps.items() if stamp is not None})


def _fill(command: Command) -> int:
    before = _filled()
    status = command.fill()
    new = _filled() - before
    cache = node_cache()
    # Not in the places of images: containers may have put links there.
    for store in new.intersection(cache.stores() if cache is not None else ()):
        command.keep_beside(Path(store))
    if status or new:
        return status
    if not batch_job():
        raise Complaint(
            f"{command.words[0]} ended, and filled no store: its python has to be started through mpiimport, as in "
            "mpiimport session start -- python -m mpiimport app.py; see docs/sessions.md"
        )
    # What starts ranks on other nodes need not start one here.
    said = "kept no store on this node; ranks on other nodes say by themselves what they keep"
    print(f"mpiimport: {command.words[0]} {said}", file=sys.stderr)
    return 0


def refresh() -> int:
    """Look at the tree, and start again what has filled stores that are not known to be true. Raises Complaint."""
    cache = node_cache()
    if cache is None or not cache.stores():
        raise Complaint("no stores are kept on this node; mpiimport session start fills one")
    doubted = [one for one in session_validation.validate_from_anywhere(cache) if one.stale or one.unseen]
    if not doubted:
        print("the tree is as the stores say")
        return 0
    commands = dict.fromkeys(filter(None, (command_of(one.store) for one in doubted)))
    for one in doubted:
        print(f"{session_validation.program_of(one.store)}: {one.stale or f'not validated: {one.unseen}'}")
    _forget_changed(cache)
    for one in doubted:
        if one.stale or command_of(one.store):
            cache.forget(str(one.store))
    if not commands:
        raise Complaint(
            "no session start of this node has filled these stores: tasks fill others by themselves, and where a "
            "session of nodes was started refresh fills them"
        )
    return max(_fill(Command.read(command)) for command in commands)


def status() -> int:
    """Print a line for each store. Status 1 where there is none."""
    cache = node_cache()
    stores = cache.stores() if cache is not None else []
    images = places_of_images(cache.directory) if cache is not None else []
    if cache is None or not (stores or images):
        print("no stores are kept on this node")
        return 1
    print(f"{cache.directory}: {in_words(size_of(cache.directory))}")
    found = {str(one.store): one for one in session_validation.validate_from_anywhere(cache)}
    for store in stores:
        print(f"  {_described(Path(store), found.get(store))}")
    for image in images:
        # What stands in there containers have written.
        print(f"  containers of the image {Path(image).name}: {in_words(size_of(image))}")
    return 0


def printable(text: str) -> str:
    """Return a text in which letters that no terminal shows are written as Python writes them."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _described(store: Path, found: session_validation.Found | None) -> str:
    """Return a line about a store."""
    try:
        used = time.time() - last_use(str(store))
        filled = time.time() - (store / PROGRAM).stat().st_mtime
        program = session_validation.program_of(store)
        count = uses(str(store))
    except OSError as exc:
        # Removed meanwhile, or by hand.
        return f"{store}: {exc.strerror}"
    came = f"{count} processes so far, the last {_ago(used)}, {len(users(store))} now" if count else "no process so far"
    doubt = f"; {found.stale or f'not validated: {found.unseen}'}" if found and (found.stale or found.unseen) else ""
    return f"{program}: {in_words(size_of(str(store)))}, filled {_ago(filled)}, {came}{doubt}"


def stop() -> int:
    """Remove the stores of this user on this node. Raises Complaint."""
    cache = node_cache()
    try:
        left = remove_cache(cache) if cache is not None else []
    except NotOurs as exc:
        raise Complaint(str(exc)) from None
    for store in left:
        if Path(store).parent.name == IMAGES:
            reason = "containers use it, or have put something there that only `podman unshare rm -rf` can remove"
            print(f"{store} is left: {reason}; stop them, and call this again")
        else:
            numbers = ", ".join(map(str, users(Path(store))))
            using = f"these processes use it, or fill it: {numbers}; stop them, and" if numbers else "it was in use;"
            print(f"{store} is left: {using} call this again")
    return 1 if left else 0


def users(store: Path) -> list[int]:
    """Return the processes that hold a store's lock, as far as they can be seen from here (proc_locks(5))."""
    try:
        inode = str((store / LOCK).stat().st_ino)
    except FileNotFoundError:
        # It is being removed, or was damaged.
        return []
    lines = (line.split() for line in LOCKS.read_text().splitlines())
    held = (line for line in lines if len(line) > 5 and line[1] == "FLOCK" and line[5].rpartition(":")[2] == inode)
    return sorted(int(line[4]) for line in held)


def node_cache() -> Cache | None:
    """Return where this user's stores lie on this node, if there are any. Raises Complaint."""
    options = _options()
    parents = options.store_places()
    cache = Cache.find(parents, options.session)
    why = why_no_place(parents, options.session) if cache is None else ""
    if why:
        raise Complaint(f"no stores can be kept: {why}")
    return cache


def _options() -> Options:
    try:
        return from_environment()
    except OptionError as exc:
        raise Complaint(str(exc)) from None


def _filled() -> set[str]:
    cache = node_cache()
    if cache is None:
        return set()
    own = [cache, *map(Cache, places_of_images(cache.directory))]
    return {store for one in own for store in one.stores()}


def _ago(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name} ago"
    return f"{max(seconds, 0):.0f} seconds ago"
