"""An image of the interpreter that a command starts, from the command to the file."""

import marshal
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from mpiimport.rank_variables import without_rank
from mpiimport.runtime.coerced_locale import forget_coerced_locale
from mpiimport.runtime.file_systems import wait_for_rest
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.program import MODULE, Program
from mpiimport.runtime.store.kept_key import settings_of

from . import registry
from .audit import Audit, Verdict
from .beginning import modules_among
from .confinement import refuse_changed, refuse_unknown_filters
from .image_format import IS_DIRECTORY, STAMP, is_image
from .interpreter import SECONDS, split
from .key_files import packed, stamp
from .leading import Leading, cut, leading_part, statements_of
from .leading_of_module import ModuleLeading, leading_of_module
from .memory_map import Refused
from .preloaded import refuse_constructors
from .registry import names_of_libraries
from .trials import HERE, PACKAGES, begin_child

PLAIN = ".plain"


@dataclass(frozen=True)
class Made:
    """What came of it: ``size`` of the image and of its ``body``, in bytes."""

    verdict: Verdict
    size: int
    body: int


def make(
    image: Path,
    command: list[str],
    without: tuple[str, ...] = (),
    place: Path | None = None,
    files: Iterable[str] = (),
    kept: str = "",
    key: str = "",
) -> Made:
    """Look at what the leading imports of a program do, and write the image of them and what a fresh start executes.

    ``without``: remedies that a test leaves out; ``place``: that of the kept store which gets the image; ``files``:
    further paths that are to be as they are; ``kept``: the key of the program's kept store, if there is one; ``key``:
    by which the door knows the program, where it is told to start from this file. Raises Refused, with no image
    written.
    """
    for name in ("mpiimport-warm", "warm-recorder"):
        if not any((place / name).exists() for place in (HERE, PACKAGES.parent / "bin")):
            raise Refused(f"{name} is not installed: warm images are for x86_64")
    if not image.parent.is_dir() or (os.path.lexists(image) and not image.is_file()):
        raise Refused(f"{image} is no name for a file")
    if image.exists() and not is_image(image):
        raise Refused(f"{image} is there, and is no image; name another file, or remove it")
    refuse_unknown_filters()
    forget_coerced_locale(os.environ)
    words, rest = split(command)
    program = Program.parse(rest)
    _check_search_path()
    # What a killed maker leaves goes with the store that it was to fill.
    with _ending_in_order(), tempfile.TemporaryDirectory(prefix="mpiimport-warm-", dir=place and image.parent) as name:
        directory = Path(name)
        module = leading_of_module(words, program.target, directory) if program.kind == MODULE else None
        leading = Leading(b"", 0, False) if module else leading_part(Path(program.target))
        script = script_of(program.target, leading)
        names, looked_for = list[str](), list[str]()
        if not script:
            leading, names, looked_for = _record(words, leading, module, directory)
        refuse_constructors(words, directory, os.environ)
        verdict = Audit(words, directory, dict(os.environ), script).verdict(names)
        looked_for = sorted({*(looked_for or verdict.looked_for), *names_of_libraries(verdict.modules)})
        beside = modules_among(os.listdir(Path(program.target).resolve().parent)) if script else set()
        verdict.files.update((path, STAMP) for path in (*files, *(module.files() if module else ())))
        before = {file: stamp(*file) for file in verdict.files}
        refuse_changed(path for path, _ in before)
        # While something was changed in the last moment, its stamp may not tell of another change.
        wait_for_rest({path: stamp[-1] for (path, how), stamp in before.items() if how != IS_DIRECTORY and stamp})
        more = {"without": without, "leading": leading.text, "names": looked_for, "script": script}
        more |= {"beside": sorted(beside), "place": str(place) if place else "", "key": key.encode()}
        more["kept"] = (kept, settings_of(from_environment())) if kept else ()
        more |= {"module": module.packed() if module else ()}
        made = _write(image, words, verdict, more, directory)
        changed = sorted(file for file, seen in before.items() if stamp(*file) != seen)
        if changed:
            image.unlink()
            raise Refused(f"{changed[0][0]}, which imports looked at, changed meanwhile")
    if place is None:
        _write_plain(image, words)
    return made


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


def script_of(name: str, leading: Leading) -> tuple[Any, ...]:
    """Return what ScriptBegin takes of a script that says at_image(); nothing of another."""
    path = name if name.startswith("/") else f"{Path.cwd()}/{name}"
    return (path, leading.text, leading.statements) if leading.is_run else ()


def _check_search_path() -> None:
    value = os.environ.get("PYTHONPATH", "")
    for entry in value.split(os.pathsep) if value else []:
        if not entry:
            raise Refused(f"PYTHONPATH has an empty entry, each process's own directory; take a colon away: {value}")
        if not Path(entry).is_absolute():
            raise Refused(f"PYTHONPATH has a relative entry: {entry}")


def _record(
    words: list[str], leading: Leading, module: ModuleLeading | None, directory: Path
) -> tuple[Leading, list[str], list[str]]:
    """Execute the imports. Return those that bind the same when they are executed once more, the modules that were
    imported before anything changed that imports depend on, and the top-level names of all that were looked for."""
    log, scripts, count = directory / "imports", [], 0
    log.unlink(missing_ok=True)
    for number, text in enumerate(module.texts() if module else [leading.text]):
        scripts.append(directory / f"imports{number}.py")
        scripts[-1].write_bytes(text)
        statements = statements_of(text)
        Path(f"{scripts[-1]}.statements").write_bytes(marshal.dumps(statements))
        count += len(statements)
    # Imports may start MPI, and the connection of a rank is not inherited.
    command = [*words, str(HERE / "recording.py"), str(PACKAGES), str(log), module.package if module else ""]
    status = subprocess.run(
        [*command, *map(str, scripts)],
        env=without_rank(os.environ),
        stdin=subprocess.DEVNULL,
        # What imports print is the program's output, which is not run.
        stdout=subprocess.DEVNULL,
    ).returncode
    if status:
        raise Refused(f"the imports of the program ended with status {status}")
    lines = log.read_text().splitlines() if log.exists() else []
    again = sum(int(line[1:]) for line in lines if line.startswith("!"))
    if again < count:
        if module:
            raise Refused(f"an import of {module.runs} binds something else when it is executed once more")
        return _record(words, cut(leading, again), module, directory)
    there = {line[1:] for line in lines if line.startswith("=")}
    asked = [line for line in lines if not line.startswith(("=", "!"))]
    before = takewhile(lambda line: not line.startswith("-"), asked)
    names = [name for name in dict.fromkeys(line[1:] for line in before if line.startswith("+")) if name in there]
    looked_for = {line[1:].partition(".")[0] for line in asked}
    if module:
        if module.runs in names:
            raise Refused(f"{module.runs} is imported before it runs")
        looked_for.update(() if module.directory else [module.runs.partition(".")[0]])
    return leading, names, sorted(looked_for)


def _write(image: Path, words: list[str], verdict: Verdict, more: dict[str, Any], directory: Path) -> Made:
    plan, said = directory / "plan", directory / "said"
    content = {
        "package": str(PACKAGES),
        "freeze": str(HERE / "freeze.so"),
        "modules": verdict.modules,
        "image": str(image.absolute()),
        "words": [os.fsencode(word) for word in words],
        "variables": key_variables(verdict),
        "free": [os.fsencode(pattern) for pattern in registry.FREE] if verdict.whole else [],
        "files": packed(verdict.files, verdict.tree, verdict.of_modules),
        "generators": verdict.generators,
        "threads": bool(verdict.threads),
        "cores": verdict.cores,
        "absent": sorted(verdict.absent),
        "entries": verdict.entries,
        "signals": sorted(verdict.signals),
        "said": str(said),
        **more,
    }
    plan.write_bytes(marshal.dumps(content))
    command = [*words, str(HERE / "making.py"), str(plan)]
    outcome = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, preexec_fn=begin_child
    )
    text = said.read_text() if said.exists() else ""
    kind, _, rest = text.partition(": ")
    if kind != "written":
        sys.stderr.write(outcome.stderr.decode(errors="replace"))
        raise Refused(rest or f"the maker ended with status {outcome.returncode}")
    return Made(verdict, *map(int, rest.split()))


def key_variables(verdict: Verdict) -> dict[bytes, bytes | None]:
    """Return the variables of the key with their values, and the prefixes of which there are no others."""
    patterns = (*registry.PREFIXES, *(("*",) if verdict.whole else ()))
    starts = tuple(pattern[:-1] for pattern in patterns)
    there = {name for name in os.environ if name.startswith(starts)}
    if verdict.whole:
        there = {name for name in there if not registry.is_free(name)}
    names = map(os.fsencode, verdict.variables | there)
    return {**{name: os.environb.get(name) for name in names}, **{pattern.encode(): None for pattern in patterns}}


def _write_plain(image: Path, words: list[str]) -> None:
    """Write what the starter executes where it cannot believe the image: each word ended by a zero."""
    new = image.with_name(f"{image.name}{PLAIN}.new")
    new.write_bytes(b"".join(os.fsencode(word) + b"\0" for word in words))
    new.chmod(0o600)
    new.rename(image.with_name(image.name + PLAIN))
