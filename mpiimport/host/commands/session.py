"""``mpiimport session start|run|status|stop``: the stores that this user keeps on this node."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from mpiimport.runtime.options import OptionError, Options, from_environment
from mpiimport.runtime.size import in_words
from mpiimport.runtime.store.lock import LOCK
from mpiimport.runtime.store.place import IMAGE, LEFT_OUT, PROGRAM, REFUSED, Place, batch_job, size_of

from ..complaint import Complaint
from . import session_run

LOCKS = Path("/proc/locks")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("session", help="keep a program's modules on this node, for many jobs").add_subparsers(
        required=True, metavar="ACTION"
    )
    parser = kinds.add_parser("start", help="fill the store of the program that the command behind -- starts")
    parser.add_argument("--warm", action="store_true", help="make a warm image of the program, too (MPIIMPORT_WARM)")
    parser.set_defaults(run=lambda given, command: start(command, given.warm), takes_command=True)
    parser = kinds.add_parser("run", help="run the command behind --, whose processes keep stores until it ends")
    # `mpiimport run --session` says it.
    parser.add_argument("--ignoring", type=int, nargs="*", default=[], help=argparse.SUPPRESS)
    parser.set_defaults(run=_run, takes_command=True)
    parser = kinds.add_parser("status", help="list the stores")
    parser.set_defaults(run=lambda given, command: status())
    parser = kinds.add_parser("stop", help="remove the stores; status 1 where processes still use some")
    parser.set_defaults(run=lambda given, command: stop())


def _run(given: argparse.Namespace, command: list[str]) -> int:
    return session_run.run(command, _options().store_places(), given.ignoring)


def start(command: list[str], warm: bool = False) -> int:
    """Start a command so that its program has its store filled, and is not run. Raises Complaint.

    ``warm``: its image is made, too.
    """
    if os.environ.get("MPIIMPORT") == "0":
        raise Complaint("MPIIMPORT=0 switches everything off, so no store would be filled; unset it")
    before = _filled()
    environment = {**os.environ, "MPIIMPORT_FILL": "1", "MPIIMPORT": os.environ.get("MPIIMPORT") or "1"}
    if warm:
        environment["MPIIMPORT_WARM"] = "1"
    try:
        ended = subprocess.run(command, env=environment, check=False)
    except OSError as exc:
        raise Complaint(f"{command[0]} cannot be started: {exc.strerror}") from None
    if ended.returncode or _filled() != before:
        return ended.returncode
    if not batch_job():
        raise Complaint(
            f"{command[0]} ended, and filled no store: its python has to be started through mpiimport, as in "
            "mpiimport session start -- python -m mpiimport app.py; see docs/kept-stores.md"
        )
    # What starts ranks on other nodes need not start one here.
    said = "kept no store on this node; ranks on other nodes say by themselves what they keep"
    print(f"mpiimport: {command[0]} {said}", file=sys.stderr)
    return 0


def status() -> int:
    """Print a line for each store. Status 1 where there is none."""
    place = kept_place()
    stores = place.stores() if place is not None else []
    if place is None or not stores:
        print("no stores are kept on this node")
        return 1
    print(f"{place.directory}: {in_words(place.size())}")
    for store in stores:
        print(f"  {_described(Path(store))}")
        for line in _text(Path(store) / LEFT_OUT).splitlines():
            print(f"    not in it: {ascii(line)[1:-1]}")
    return 0


def _text(file: Path) -> str:
    """Return what a file holds, if it is there."""
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _described(store: Path) -> str:
    try:
        used = time.time() - store.stat().st_mtime
        filled = time.time() - (store / PROGRAM).stat().st_mtime
        program = (store / PROGRAM).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as exc:
        # Removed meanwhile, or by hand.
        return f"{store}: {exc.strerror}"
    name = ascii(program)[1:-1]
    reason = _text(store / REFUSED)
    if reason:
        return f"{name}: no warm image: {ascii(reason)[1:-1]}; tried {_ago(filled)}"
    kind = "warm image, " if (store / IMAGE).exists() else ""
    return (
        f"{name}: {kind}{in_words(size_of(str(store)))}, filled {_ago(filled)}, last process {_ago(used)}, "
        f"{users(store)} now"
    )


def stop() -> int:
    """Remove the stores of this user on this node."""
    place = kept_place()
    left = place.remove() if place is not None else []
    for store in left:
        count = users(Path(store))
        print(f"{store} is left: {count} processes use it; stop them, and call this again")
    return 1 if left else 0


def users(store: Path) -> int:
    """Return how many processes hold a store's lock, as far as they can be seen from here (proc_locks(5))."""
    try:
        inode = str((store / LOCK).stat().st_ino)
    except FileNotFoundError:
        # It is being removed, or was damaged.
        return 0
    lines = (line.split() for line in LOCKS.read_text().splitlines())
    return sum(1 for line in lines if len(line) > 5 and line[1] == "FLOCK" and line[5].rpartition(":")[2] == inode)


def kept_place() -> Place | None:
    """Return where this user's stores lie on this node, if there are any. Raises Complaint."""
    options = _options()
    return Place.find(options.store_places(), options.session)


def _options() -> Options:
    try:
        return from_environment()
    except OptionError as exc:
        raise Complaint(str(exc)) from None


def _filled() -> set[str]:
    place = kept_place()
    return set(place.stores()) if place is not None else set()


def _ago(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name} ago"
    return f"{max(seconds, 0):.0f} seconds ago"
