"""An image of the interpreter that a command starts, from the command to the file."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mpiimport.runtime.coerced_locale import forget_coerced_locale
from mpiimport.runtime.file_systems import wait_for_rest
from mpiimport.runtime.program import Program

from ..audit import key_variables
from ..audit.audit import Audit, Verdict
from ..audit.confinement import refuse_changed, refuse_poor_kernel, refuse_unknown_filters
from ..audit.key_files import packed, stamp
from ..audit.preloaded import refuse_constructors
from ..audit.registry import names_of_libraries
from ..image_format import KIND, STAMP, is_image
from ..interpreter import SECONDS, split
from ..memory_map import Refused
from ..restore.resume import is_distribution, modules_among
from ..text.program_text import BASE, Piece, ProgramText
from ..trials import HERE, PACKAGES, begin_child
from .plan import Plan
from .temporary_place import temporary_directory, temporary_place

PLAIN = ".plain"
# How such a file begins: restorer/fresh.c believes no other.
PLAIN_WORDS = b"mpiimport plain words 1"


@dataclass(frozen=True)
class Cut:
    """A snapshot that was written, up to its cut: ``size``: of the file (bytes); ``took``: how long the begin kept a
    core (s), which each start is spared."""

    verdict: Verdict
    size: int
    took: float


@dataclass(frozen=True)
class Made:
    """What came of it. ``base``: None where the full one is valid as long as that would be."""

    full: Cut
    base: Cut | None

    @property
    def shared(self) -> tuple[bytes, str]:
        """With what scripts begin that may start from the shorter one, nothing where none may; and in which directory
        they lie, nothing where in any."""
        piece = (self.base or self.full).verdict.piece
        if not piece.is_shared or piece.is_module:
            return b"", ""
        path, heads = piece.begin[1][1], piece.begin[4]
        text = next((head[2] for head in heads if head[1] == path), piece.head)
        is_bound = any(head[1] != path for head in heads)
        return text, os.path.dirname(os.path.realpath(path)) if is_bound else ""


@dataclass(frozen=True)
class Request:
    """``words``: the interpreter and its options; ``program``: what it runs; ``without``: reinitialisers that a
    test excludes; ``files``: further paths that are to be as they are; ``key``: of the program, for python-mpi."""

    words: list[str]
    program: Program
    without: tuple[str, ...]
    files: tuple[str, ...]
    key: str


def make(
    image: Path,
    command: list[str],
    without: tuple[str, ...] = (),
    files: Iterable[str] = (),
    key: str = "",
) -> Made:
    """Look at what the begin of a program does, and write the snapshots of it and what a fresh start executes.

    For the others see ``Request``. The base goes to a file beside. Raises Refused, with no snapshot written.
    """
    for name in ("mpiimport-restore", "snapshot-recorder"):
        if not any((place / name).exists() for place in (HERE, PACKAGES.parent / "bin")):
            raise Refused(f"{name} is not installed: snapshots are for x86_64 and aarch64")
    if not image.parent.is_dir() or (os.path.lexists(image) and not image.is_file()):
        raise Refused(f"{image} is no name for a file")
    if image.exists() and not is_image(image):
        raise Refused(f"{image} is there, and is no image; name another file, or remove it")
    refuse_unknown_filters()
    refuse_poor_kernel()
    forget_coerced_locale(os.environ)
    words, rest = split(command)
    asked = Request(words, Program.parse(rest), without, tuple(files), key)
    _check_search_path()
    with _ending_in_order(), temporary_directory(temporary_place()) as directory:
        text = ProgramText.read(words, rest, directory)
        refuse_constructors(words, directory, os.environ)
        full, base = verdicts(Audit(words, directory, dict(os.environ), text), text)
        beside = base_of(image)
        beside.unlink(missing_ok=True)
        made = Made(_made(image, asked, full, text, directory), None)
        if base is not None:
            made = Made(made.full, _made(beside, asked, base, text, directory, is_base=True))
    if not key:
        _write_plain(image, words)
    return made


def base_of(image: Path) -> Path:
    """Return where the base lies of a snapshot: see restorer/image.c."""
    return image.with_name(f"{image.name}.{BASE}")


def verdicts(audit: Audit, text: ProgramText) -> tuple[Verdict, Verdict | None]:
    """Return what can be in the full snapshot, and in its base, where that differs. Raises Refused."""
    piece = text.base()
    try:
        full = audit.verdict(text.full(), is_bound=not text.is_asked)
    except Refused:
        # Own code that is imported first may have a blocker, and what it imports none.
        if piece is None:
            raise
        return audit.verdict(piece), None
    if full.has_arguments and piece is None:
        # One for all others.
        piece = text.full()
    try:
        base = None if piece is None else _of_same_begin(full, piece, text) or audit.verdict(piece)
    except Refused:
        base = None
    if base is not None and not text.computes and {*full.modules} <= {*base.modules}:
        # The full one would spare nothing but definitions. What ends it is what a person may change.
        return replace(base, piece=base.piece.ending_as(full.piece), later=full.later), None
    return full, base


def _of_same_begin(full: Verdict, base: Piece, text: ProgramText) -> Verdict | None:
    """Return what is known of a base from the full snapshot, where that ends no further, with the same statements, and
    is for all arguments, as the base is."""
    steps = full.piece.steps
    shorter = text.shorter(base, steps, full.piece.reason)
    if shorter.begin != full.piece.begin or full.has_arguments:
        return None
    later = [number for number in full.later if number < base.steps]
    return replace(full, piece=base if steps == base.steps else shorter, later=later)


def _made(
    image: Path, asked: Request, verdict: Verdict, text: ProgramText, directory: Path, is_base: bool = False
) -> Cut:
    """Write one snapshot. Raises Refused."""
    module = text.is_module
    place = Path.cwd() if module else text.file.resolve().parent
    entries = os.listdir(place)
    verdict.files.update((path, STAMP) for path in asked.files)
    before = {file: stamp(*file) for file in verdict.files}
    refuse_changed(path for path, _ in before)
    # While something was changed in the last moment, its stamp may not tell of another change.
    wait_for_rest({path: seen[-1] for (path, how), seen in before.items() if how != KIND and seen})
    cut = _write(image, asked, verdict, entries, directory, is_base)
    changed = sorted(file for file, seen in before.items() if stamp(*file) != seen)
    if changed:
        image.unlink()
        raise Refused(f"{changed[0][0]}, which imports looked at, changed meanwhile")
    return cut


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Have signals that end a process raise SystemExit, while this context lasts, so that what was written goes."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    ending = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    for number in ending:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _check_search_path() -> None:
    value = os.environ.get("PYTHONPATH", "")
    for entry in value.split(os.pathsep) if value else []:
        if not entry:
            raise Refused(f"PYTHONPATH has an empty entry, each process's own directory; take a colon away: {value}")
        if not Path(entry).is_absolute():
            raise Refused(f"PYTHONPATH has a relative entry: {entry}")


def _write(image: Path, asked: Request, verdict: Verdict, entries: list[str], directory: Path, is_base: bool) -> Cut:
    file, said = directory / "plan", directory / "said"
    said.unlink(missing_ok=True)
    plan = Plan(
        begin=verdict.piece.begin,
        is_base=is_base,
        image=str(image.absolute()),
        words=[os.fsencode(word) for word in asked.words],
        variables=key_variables.of_key(verdict.variables, verdict.whole),
        free=[os.fsencode(pattern) for pattern in key_variables.FREE] if verdict.whole else [],
        files=packed(verdict.files),
        generators=verdict.generators,
        settled=verdict.settled,
        freeze=str(HERE / "freeze.so"),
        without=asked.without,
        has_threads=bool(verdict.threads),
        has_callbacks="_ctypes" in verdict.modules,
        has_handlers=verdict.has_handlers,
        names=sorted({*verdict.looked_for, *names_of_libraries(verdict.modules)}),
        beside=_importable(entries),
        cores=verdict.cores,
        absent=sorted({*verdict.absent, *(path for path in verdict.relative if not os.path.isdir(path))}),
        entries=verdict.entries,
        relative={path: _importable(os.listdir(path) if os.path.isdir(path) else []) for path in verdict.relative},
        arguments=asked.program.arguments if verdict.has_arguments else None,
        signals=sorted(verdict.signals),
        said=str(said),
        key=asked.key.encode(),
    )
    file.write_bytes(plan.packed())
    command = [*asked.words, str(HERE / "image" / "making.py"), str(file)]
    outcome = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, preexec_fn=begin_child
    )
    text = said.read_text() if said.exists() else ""
    kind, _, rest = text.partition(": ")
    if kind != "written":
        sys.stderr.write(outcome.stderr.decode(errors="replace"))
        raise Refused(rest or f"the maker ended with status {outcome.returncode}")
    size, took = rest.split()
    return Cut(verdict, int(size), float(took))


def _importable(entries: Iterable[str]) -> list[str]:
    """Return which entries of a directory imports may look for."""
    return sorted(entry for entry in entries if modules_among([entry]) or is_distribution(entry))


def _write_plain(image: Path, words: list[str]) -> None:
    """Write what the starter executes where it cannot believe the image: words, each ended by a zero."""
    new = image.with_name(f"{image.name}{PLAIN}.new")
    new.write_bytes(b"".join(word + b"\0" for word in (PLAIN_WORDS, *map(os.fsencode, words))))
    new.chmod(0o600)
    new.rename(image.with_name(image.name + PLAIN))
