"""``mpiimport manifest show|diff|prune``: the learned manifests of this user, for a person's eyes."""

import argparse
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from mpiimport.runtime.payload.learned_manifest import KIND, SUFFIX, Learned, Malformed, user_directory
from mpiimport.runtime.payload.learning import NONE
from mpiimport.runtime.regular_file import read_regular

from ..complaint import Complaint

SECONDS_A_DAY = 86400
SECONDS_AN_HOUR = 3600
DIFFERENT = 1


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("manifest").add_subparsers(required=True, metavar="ACTION")
    _add_show(kinds)
    _add_diff(kinds)
    _add_prune(kinds)


def _add_show(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("show", help="list the manifests, or the content of some")
    parser.add_argument("which", nargs="*", metavar="MANIFEST", help="a file, a script, or the name of a -m module")
    _add_directory(parser)
    parser.set_defaults(run=lambda given, _: show(_directory(given), given.which))


def _add_diff(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("diff", help="compare two manifests; status 1 where they differ")
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    _add_directory(parser)
    parser.set_defaults(run=lambda given, _: diff(_directory(given), given.old, given.new))


def _add_prune(kinds: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = kinds.add_parser("prune", help="remove manifests that have not changed for long, or are damaged")
    parser.add_argument("--days", type=_days, default=90, metavar="N", help="not changed for N days (default: 90)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    _add_directory(parser)
    parser.set_defaults(run=lambda given, _: prune(_directory(given), given.days, given.dry_run))


def _add_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--directory",
        type=Path,
        help="where the manifests are (default: MPIIMPORT_MANIFESTS, or this user's)",
    )


def _days(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no number of days")
    return int(text)


@dataclass(frozen=True)
class Entry:
    """A manifest file; ``learned`` is None where it is malformed, as ``reason`` says."""

    path: Path
    changed: float
    learned: Learned | None
    reason: str = ""


def _directory(given: argparse.Namespace) -> Path:
    """Return where the manifests are. Raises Complaint where nothing says so."""
    directory = given.directory or os.environ.get("MPIIMPORT_MANIFESTS") or user_directory()
    if directory in ("", NONE):
        raise Complaint(
            "neither MPIIMPORT_MANIFESTS nor HOME names a directory; name that of the manifests with --directory"
        )
    return Path(directory)


def show(directory: Path, which: list[str]) -> int:
    """List all manifests, or print the content of those that ``which`` names."""
    if not which:
        _list(directory)
    for name in which:
        print(_read(_resolve(directory, name)).text(), end="")
    return 0


def diff(directory: Path, old: str, new: str) -> int:
    """Print what ``new`` has (+) and lacks (-) of each kind of line. Return 1 where they differ, as diff(1)."""
    before, after = (_lines(_read(_resolve(directory, name))) for name in (old, new))
    changes = sorted([(line, "-") for line in before - after] + [(line, "+") for line in after - before])
    for line, sign in changes:
        print(f"{sign} {line}")
    return DIFFERENT if changes else 0


def prune(directory: Path, days: int, dry_run: bool) -> int:
    """Remove what is damaged, or not changed for ``days``. What is no manifest stays."""
    for entry in _entries(directory):
        reason = "" if entry.path.is_symlink() else _stale(entry, days)
        if not reason:
            continue
        print(f"{'would remove' if dry_run else 'removed'} {entry.path}: {reason}")
        if not dry_run:
            entry.path.unlink(missing_ok=True)
    for path in directory.glob(f"*{SUFFIX}.{'[0-9a-f]' * 16}"):
        if time.time() - path.stat().st_mtime > SECONDS_AN_HOUR:
            print(f"{'would remove' if dry_run else 'removed'} {path}: its writer was killed")
            if not dry_run:
                path.unlink(missing_ok=True)
    return 0


def _list(directory: Path) -> None:
    # Not needed where only `bake` is used, as in an image.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table("program", "tree", "modules", "mostly", "changed", "file", title=str(directory))
    entries = sorted(_entries(directory), key=lambda entry: entry.changed, reverse=True)
    for entry in entries:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.changed))
        if entry.learned is None:
            table.add_row(Text(entry.reason, style="red"), "", "", "", when, Text(entry.path.name))
            continue
        learned = entry.learned
        tops = Counter(name.partition(".")[0] for name in learned.imported)
        mostly = ", ".join(name for name, _ in tops.most_common(3))
        row = (learned.program, learned.tree, str(len(learned.imported)), mostly, when, entry.path.name)
        table.add_row(*map(Text, row))
    if entries:
        console.print(table)
    else:
        console.print(f"no manifests in {directory}", markup=False)


def _entries(directory: Path) -> list[Entry]:
    return [_entry(path) for path in sorted(directory.glob("*" + SUFFIX)) if path.is_file()]


def _entry(path: Path) -> Entry:
    changed = path.stat().st_mtime
    try:
        return Entry(path, changed, Learned.read(str(path)))
    except (OSError, Malformed) as exc:
        return Entry(path, changed, None, f"malformed: {exc}")


def _resolve(directory: Path, name: str) -> Path:
    """Return the manifest that a person means: a file, or the latest of a script or module. Raises Complaint."""
    path = Path(name)
    if name.endswith(SUFFIX):
        return path if path.exists() else directory / name
    programs = {f"script {path.absolute()}", f"module {name}"}
    entries = [entry for entry in _entries(directory) if entry.learned and entry.learned.program in programs]
    if not entries:
        raise Complaint(f"no manifest of {name} in {directory}; `mpiimport manifest show` lists what there is")
    return max(entries, key=lambda entry: entry.changed).path


def _read(path: Path) -> Learned:
    try:
        return Learned.read(str(path))
    except OSError as exc:
        raise Complaint(f"{path}: {exc.strerror}") from None
    except Malformed as exc:
        raise Complaint(f"{path}: {exc}; remove it, the next run of its program writes it anew") from None


def _lines(learned: Learned) -> set[str]:
    return set(learned.text().splitlines()[1:-1])


def _stale(entry: Entry, days: int) -> str:
    if entry.learned is None:
        return entry.reason if _begins_as_one(entry.path) else ""
    age = int((time.time() - entry.changed) / SECONDS_A_DAY)
    return f"not changed for {age} days" if age > days else ""


def _begins_as_one(path: Path) -> bool:
    try:
        return read_regular(str(path)).startswith(KIND.encode())
    except OSError:
        return False
