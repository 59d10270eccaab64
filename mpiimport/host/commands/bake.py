"""``mpiimport bake``: what a program imports, recorded into the tree it runs from, an image's or this machine's."""

import argparse
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mpiimport.runtime import PACKAGE_DIRECTORY
from mpiimport.runtime.payload.learned_manifest import BAKED, SUFFIX, Learned
from mpiimport.snapshot.image.temporary_place import temporary_place
from mpiimport.snapshot.memory_map import Refused

from ..complaint import Complaint
from ..machine.images import open_image


@dataclass(frozen=True)
class Record:
    """What one program imported: the manifest recorded of it, and where in its tree that belongs."""

    manifest: Path
    destination: Path
    modules: int


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "bake",
        usage="mpiimport bake [--output FILE] [IMAGE] -- COMMAND...\n"
        "       mpiimport bake --snapshot FILE -- COMMAND...\n       mpiimport bake --snapshot FILE --check",
        description="Run COMMAND once, in IMAGE (an image file or a sandbox directory) or, without one, right here, as "
        "in %%post or a Dockerfile, and leave the names of the modules it imports in its Python tree.",
    )
    parser.add_argument("image", nargs="?", metavar="IMAGE")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the image file to FILE, not over IMAGE")
    parser.add_argument("--snapshot", type=Path, metavar="FILE", help="write an image of the memory, imports done")
    parser.add_argument("--check", action="store_true", help="with --snapshot: look at every byte of FILE")
    # For tests of reinitialisers.
    parser.add_argument("--without", action="append", default=[], help=argparse.SUPPRESS)
    parser.set_defaults(takes_command=False, may_take_command=True, run=partial(_run, parser))


def _run(parser: argparse.ArgumentParser, given: argparse.Namespace, command: list[str]) -> int:
    if given.snapshot:
        # A Python in an image may lack what this needs.
        from .bake_snapshot import bake_snapshot, check_snapshot

        if given.check:
            return check_snapshot(given.snapshot)
        return bake_snapshot(given.snapshot, command, tuple(given.without))
    if not command:
        parser.error("give the command to run after --: mpiimport bake [IMAGE] -- COMMAND")
    return bake(given.image, given.output, command)


def bake(image: str | None, output: Path | None, command: list[str]) -> int:
    """Run ``command`` once and leave the names of the modules it imports in its tree.

    ``image``: an image file or a sandbox directory, None for the tree of this machine; ``output``: where an image
    file is written, over ``image`` if None. Raises Complaint, with nothing changed.
    """
    if output is not None and (image is None or Path(image).is_dir()):
        raise Complaint("--output is for image files: a sandbox, or this machine's own tree, is changed in place")
    try:
        place = temporary_place()
    except Refused as exc:
        raise Complaint(f"nothing is baked: {exc}") from None
    with tempfile.TemporaryDirectory(prefix="mpiimport-bake-", dir=place) as directory:
        records = Path(directory)
        package = Path(PACKAGE_DIRECTORY)
        opened = open_image(image) if image is not None else None
        status = opened.run(command, package, records) if opened else _run_here(command, package, records)
        if status:
            raise Complaint(f"nothing is baked: {' '.join(command)} ended with status {status}")
        found = _records(records)
        if not found:
            raise Complaint("nothing is baked: no CPython 3.10 or newer was run, or it was run with -I, -E or -S")
        if opened:
            opened.add({record.destination: record.manifest for record in found}, output)
        else:
            _lay_out(found)
        for record in found:
            print(f"baked {record.destination}: {record.modules} modules")
    return 0


def _run_here(command: list[str], package: Path, records: Path) -> int:
    others = os.environ.get("PYTHONPATH")
    path = f"{package / 'pythonpath'}:{others}" if others else str(package / "pythonpath")
    recording = {"MPIIMPORT": "1", "MPIIMPORT_RECORD": str(records), "PYTHONPATH": path}
    try:
        return subprocess.run(command, env={**os.environ, **recording}).returncode
    except OSError as exc:
        raise Complaint(f"cannot run {command[0]}: {exc.strerror}") from None


def _records(directory: Path) -> list[Record]:
    found = []
    for path in sorted(directory.glob("*" + SUFFIX)):
        learned = Learned.read(str(path))
        home = Path(learned.tree.split(" ")[1])
        found.append(Record(path, home / BAKED / path.name, len(learned.imported)))
    return found


def _lay_out(records: list[Record]) -> None:
    try:
        for record in records:
            record.destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(record.manifest, record.destination)
    except OSError as exc:
        raise Complaint(f"cannot write {exc.filename}: {exc.strerror}; bake as the owner of the tree") from None
