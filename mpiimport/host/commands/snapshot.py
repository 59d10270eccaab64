"""``mpiimport snapshot list|show|check|remove``: what this user has prepared."""

import argparse
import os
import time
from pathlib import Path

from mpiimport.runtime.size import in_words
from mpiimport.runtime.store.store import PROGRAM
from mpiimport.snapshot.image.checking import check, tables_of
from mpiimport.snapshot.image.library import A_DAY, REACH, Entry, directory, entries
from mpiimport.snapshot.image_format import ABSENT, FREE, Damaged, Tables
from mpiimport.snapshot.memory_map import Refused

from ..complaint import Complaint
from .session import printable


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("snapshot").add_subparsers(required=True, metavar="ACTION")
    parser = kinds.add_parser("list", help="list what is prepared, the one used last first")
    parser.set_defaults(run=lambda given, command: list_all())
    parser = kinds.add_parser("show", help="say how far the snapshots of a program reach, and what ends them")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("--key", action="store_true", help="say, too, for which variables and processors each one is")
    parser.set_defaults(run=lambda given, command: show(given.program, given.key))
    parser = kinds.add_parser("check", help="look at every byte of all snapshots, or of those of a program")
    parser.add_argument("program", metavar="PROGRAM", nargs="?", default="")
    parser.set_defaults(run=lambda given, command: check_all(given.program))
    parser = kinds.add_parser("remove", help="remove the snapshots of a program, or all of them")
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("program", metavar="PROGRAM", nargs="?", default="")
    chosen.add_argument("--all", action="store_true")
    parser.set_defaults(run=lambda given, command: remove(given.program))


def list_all() -> int:
    """Print a line for each program. Status 1 where none is prepared."""
    library = _library()
    found = entries(library)
    if not found:
        print(f"nothing is prepared in {library}; mpiimport prepare -- COMMAND makes a snapshot of a program")
        return 1
    print(f"{library}: {in_words(sum(entry.size() for entry in found))}")
    for entry in found:
        print(f"  {printable(entry.text(PROGRAM))}: {_size(entry)}, used {_ago(entry.used())}, {entry.path.name}")
    return 0


def show(program: str, with_key: bool = False) -> int:
    """Print what the snapshots of a program hold. Raises Complaint.

    ``with_key``: of each snapshot, how many processors it is for, and which variables a start must have.
    """
    for entry in _of(program):
        print(f"{printable(entry.text(PROGRAM))}: {_size(entry)} in {entry.path}")
        for line in entry.text(REACH).splitlines():
            print(f"  {printable(line)}")
        for image in entry.images_and_bases if with_key else ():
            tables = _tables(image, entry)
            name = f"{image.parent.name}/{image.name}"
            print(f"  {name}: for {tables.processors} processors; {tables.count('files'):,} files")
            for line in variables_of(tables):
                print(f"    {printable(line)}")
    return 0


def variables_of(tables: Tables) -> list[str]:
    """Return a line for each variable that a start must have or lack, and for each begin of names."""
    lines = []
    for name_at, value_at in tables.rows("variables"):
        name = os.fsdecode(tables.text(name_at))
        if value_at == FREE:
            lines.append(f"any {name}")
        elif value_at != ABSENT:
            lines.append(f"{name}={os.fsdecode(tables.text(value_at))}")
        else:
            lines.append(f"no other {name}" if name.endswith("*") else f"no {name}")
    return sorted(lines, key=lambda line: (line.startswith("no "), line))


def check_all(program: str) -> int:
    """Look at every byte. Raises Complaint where one is not as it was written."""
    for entry in _of(program):
        for image in entry.images_and_bases:
            _check(image, entry)
        print(f"{printable(entry.text(PROGRAM))}: every byte is as it was written")
    return 0


def _check(image: Path, entry: Entry) -> None:
    try:
        check(image)
    except (Damaged, OSError) as exc:
        raise _damaged(image, entry, exc) from None


def _tables(image: Path, entry: Entry) -> Tables:
    try:
        return tables_of(image)
    except (Damaged, OSError) as exc:
        raise _damaged(image, entry, exc) from None


def _damaged(image: Path, entry: Entry, exc: Exception) -> Complaint:
    why = f"{image} is damaged or cannot be read: {exc}"
    return Complaint(f"{why}; prepare {entry.text(PROGRAM)} again, or remove it")


def remove(program: str) -> int:
    """Remove snapshots. Jobs that run keep theirs. Raises Complaint, also where the word fits several programs."""
    found = _of(program)
    programs = sorted({entry.text(PROGRAM) for entry in found})
    if program and len(programs) > 1:
        raise Complaint(f"several programs are called {program}: {', '.join(programs)}; name one of them by its path")
    for entry in found:
        text, size = entry.text(PROGRAM), entry.remove()
        print(f"{printable(text)}: {in_words(size)} removed")
    return 0


def _library() -> Path:
    try:
        return directory()
    except Refused as exc:
        raise Complaint(str(exc)) from None


def _of(program: str) -> list[Entry]:
    """Return the entries of a program, by its path, the end of that, its module or its key; all for an empty word."""
    found, ends = [], (f"/{program}", f" {program}", f" {Path(program).resolve()}")
    for entry in entries(_library()):
        name = entry.text(PROGRAM)
        if program in ("", name, entry.path.name) or f" {name}".endswith(ends):
            found.append(entry)
    if not found:
        raise Complaint(f"no snapshot of {program or 'any program'} is prepared; mpiimport snapshot list shows all")
    return found


def _size(entry: Entry) -> str:
    kinds = len(entry.images)
    return in_words(entry.size()) + (f" for {kinds} kinds of machines" if kinds > 1 else "")


def _ago(when: float) -> str:
    days = max(0.0, time.time() - when) / A_DAY
    return f"{days:.0f} days ago" if days >= 2 else "today" if days < 1 else "yesterday"
