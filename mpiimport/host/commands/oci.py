"""``mpiimport oci configure``: has a container runtime of this machine read our hooks or devices, or no longer."""

import argparse
import difflib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..complaint import Complaint
from ..machine.oci_runtimes import RUNTIMES, Runtime
from ..machine.settings_files import Settings

# What a file was before we changed it, beside it under this ending; an empty file under the other where there was none.
BEFORE, ABSENT_BEFORE = ".before-mpiimport", ".absent-before-mpiimport"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    kinds = commands.add_parser("oci").add_subparsers(required=True, metavar="ACTION")
    parser = kinds.add_parser(
        "configure",
        help="change the settings of a container runtime, or undo that",
        description="Show what a container runtime's file of settings has to say for hooks (podman, cri-o) or devices "
        "(docker, containerd), as a difference. Only with --write is the file changed; what it was is kept beside it.",
    )
    parser.add_argument("runtime", choices=sorted(RUNTIMES), metavar="RUNTIME", help=", ".join(sorted(RUNTIMES)))
    parser.add_argument("--config", type=Path, metavar="FILE", help="the runtime's file (default: the one it reads)")
    parser.add_argument("--undo", action="store_true", help="take out what was put in")
    parser.add_argument("--write", action="store_true", help="change the file, not only show how")
    parser.set_defaults(run=lambda given, _: configure(given.runtime, given.config, given.undo, given.write))


def configure(name: str, config: Path | None, undo: bool, write: bool) -> int:
    """Show the difference and, with ``write``, make it. Raises Complaint, with nothing changed."""
    runtime = RUNTIMES[name]
    # A link stays one.
    path = (config or runtime.file()).resolve()
    old = _read(path)
    new = _without(runtime, path, old) if undo else _with(runtime, path, old or "")
    if new == old or (new is None and old is None):
        print(f"{path}: nothing to {'undo' if undo else 'do'}")
        return 0
    shown = difflib.unified_diff(_lines(old), _lines(new), str(path), str(path))
    print("".join(line if line.endswith("\n") else f"{line}\n" for line in shown), end="")
    if not write:
        print(f"{path} was left as it is; the same command with --write changes it")
        return 0
    _write(path, old, new, undo)
    print(f"{path} was changed" + ("" if undo or old is None else f"; what it was is in {path}{BEFORE}"))
    for note in [] if undo else runtime.notes:
        print(note)
    return 0


def _with(runtime: Runtime, path: Path, text: str) -> str:
    """The text with what the runtime has to read; the same where that is there."""
    settings = Settings(path, text, is_json=runtime.is_json)
    wanted = runtime.settings(path, settings)

    def change(found: Settings) -> None:
        for setting in wanted:
            found.add(setting)

    return _changed(runtime, path, text, change)


def _without(runtime: Runtime, path: Path, text: str | None) -> str | None:
    """The text as it was or, where somebody else has changed it since, without ours alone; None for no file."""
    before = _read(Path(f"{path}{BEFORE}"))
    if text is None or (before is None and not Path(f"{path}{ABSENT_BEFORE}").exists()):
        # Nothing in it is ours.
        return text
    if _with(runtime, path, before or "") == text:
        return before
    wanted = runtime.settings(path, Settings(path, text, is_json=runtime.is_json))
    earlier = Settings(path, before, is_json=runtime.is_json) if before is not None else None

    def change(found: Settings) -> None:
        for setting in wanted:
            found.remove(setting, earlier)

    return _changed(runtime, path, text, change)


def _changed(runtime: Runtime, path: Path, text: str, change: Callable[[Settings], None]) -> str:
    """Change a text as its meaning is changed. Raises Complaint where it would come to mean something else."""
    settings = Settings(path, text, is_json=runtime.is_json)
    meant = settings.without_form()
    change(meant)
    if meant.plain() == settings.plain():
        return text
    change(settings)
    new = settings.text()
    if Settings(path, new, is_json=runtime.is_json).plain() != meant.plain():
        raise Complaint(f"{path} cannot be changed without changing its sense; it was left as it is: edit it by hand")
    return new


def _read(path: Path) -> str | None:
    try:
        # Line ends stay what they are.
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise Complaint(f"cannot read {path}: {exc}; it was left as it is") from None


def _write(path: Path, old: str | None, new: str | None, undo: bool) -> None:
    before = Path(f"{path}{ABSENT_BEFORE if old is None else BEFORE}")
    try:
        if new is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not undo:
                _replace(before, old or "", like=path)
            try:
                _replace(path, new, like=path)
            except OSError:
                if not undo:
                    before.unlink(missing_ok=True)
                raise
        if undo:
            for ending in (BEFORE, ABSENT_BEFORE):
                Path(f"{path}{ending}").unlink(missing_ok=True)
    except OSError as exc:
        raise Complaint(f"cannot write {path}: {exc.strerror}; it was left as it is: are you who may?") from None


def _replace(path: Path, text: str, *, like: Path) -> None:
    """Write a file as a whole, with mode and owner of ``like`` if that exists."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
            status = like.stat() if like.exists() else None
            if status:
                _give(handle, status)
            os.fchmod(handle, status.st_mode & 0o7777 if status else 0o644)
        Path(name).rename(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _give(handle: int, status: os.stat_result) -> None:
    """Give a new file the owner of the old one, and its group where the owner may."""
    try:
        os.fchown(handle, status.st_uid, status.st_gid)
    except PermissionError:
        if status.st_uid != os.geteuid():
            raise


def _lines(text: str | None) -> list[str]:
    return (text or "").splitlines(keepends=True)
