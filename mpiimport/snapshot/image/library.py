"""A library of snapshots: a directory, shared by nodes, in which entry points find what a person has prepared.

    KEY/MACHINE/image, image.base    KEY names a program as it is started, MACHINE the kind of machine
    KEY/since                        made when the first snapshot came; processes look at nothing that lacks it
    KEY/facts, reach, program        what the key is made of, and lines for people
    KEY/head, head_directory         how scripts begin that may start from the base
    begin-DIGEST/KEY                 an empty file: scripts that are started alike may begin as that program does
    names/NAME                       an empty file: a program of this name was prepared, or of a path with this digest
    tried/KEY                        a job had its snapshot made when this file was written; or why there is none
    tried/making                     locked by the process beside a job that makes one: of a user there is one

Entry points find it by hooks/internal/leaves/snapshotlibrary, the starter a machine by restorer/key.c.
"""

import fcntl
import os
import shutil
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mpiimport.runtime.options import SNAPSHOTS, user_cache
from mpiimport.runtime.store.entry import size_of
from mpiimport.runtime.whole_file import replace_text

from ..image_format import CORES
from ..memory_map import Refused
from .checking import digest_of, tables_of

IMAGE, SINCE, FACTS, REACH, HEAD, HEAD_DIRECTORY = "image", "since", "facts", "reach", "head", "head_directory"
LOCK, NEW, TRIED = "lock", "new-", "tried"
DIGITS = 16
# Bytes that a library may have: what was used longest ago goes first.
LARGEST = 20 << 30
A_DAY = 86400


def directory() -> Path:
    """Return this user's library, which need not be there. Raises Refused where nothing says where it is."""
    named = os.environ.get("MPIIMPORT_SNAPSHOTS", "")
    if named:
        if not os.path.isabs(named):
            raise Refused(f"MPIIMPORT_SNAPSHOTS is no absolute path: {named}")
        return _behind_link(named)
    cache = user_cache(os.environ.get("HOME", ""))
    if not cache:
        raise Refused("there is no home directory (HOME); name a directory that nodes share with MPIIMPORT_SNAPSHOTS")
    return _behind_link(os.path.join(cache, SNAPSHOTS))


def _behind_link(path: str) -> Path:
    """Return where a link leads, as snapshotlibrary.There does for a start."""
    return Path(os.path.realpath(path) if os.path.islink(path) else path)


def machine_of(image: Path) -> str:
    """Return the name of the kind of machine that an image is for. Raises OSError and Damaged."""
    numbers = list(tables_of(image).machine)
    # Only images of packages that ask for them have these.
    numbers[CORES] = 0
    return f"{digest_of()(struct.pack(f'<{len(numbers)}Q', *numbers)):0{DIGITS}x}"


@dataclass(frozen=True)
class Entry:
    """What a library has for one program."""

    path: Path

    @property
    def images(self) -> list[Path]:
        """The snapshots, one for each kind of machine."""
        return sorted(self.path.glob(f"{'?' * DIGITS}/{IMAGE}"))

    @property
    def images_and_bases(self) -> list[Path]:
        return sorted(self.path.glob(f"{'?' * DIGITS}/{IMAGE}*"))

    def text(self, name: str) -> str:
        """Return what is said in a file of it; empty where that is missing."""
        try:
            return (self.path / name).read_text(errors="surrogateescape")
        except OSError:
            return ""

    def used(self) -> float:
        """Return when a process last started from it, or when it was made, as far as the file system says (s)."""
        times = [(status.st_atime, status.st_mtime) for status in (image.stat() for image in self.images)]
        return max((max(pair) for pair in times), default=0.0)

    def size(self) -> int:
        """Return the bytes that its files take."""
        return size_of(str(self.path))

    @contextmanager
    def locked(self, waits: bool) -> Iterator[None]:
        """Let one process at a time put something in; ``waits``: for another. Raises BlockingIOError if it does not."""
        self.path.mkdir(0o700, parents=True, exist_ok=True)
        with open(self.path / LOCK, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            # What a killed process has left.
            for left in self.path.glob(f"{NEW}*"):
                shutil.rmtree(left, ignore_errors=True)
            try:
                yield
            finally:
                if not (self.path / SINCE).exists():
                    shutil.rmtree(self.path, ignore_errors=True)

    def publish(self, new: Path) -> None:
        """Give the snapshots of a directory to processes of this kind of machine. Raises OSError and Damaged."""
        place = self.path / machine_of(new / IMAGE)
        place.mkdir(0o700, exist_ok=True)
        for left in [*place.iterdir()]:
            if not (new / left.name).exists():
                left.unlink()
        for file in [*new.iterdir()]:
            file.rename(place / file.name)
        if not (self.path / SINCE).exists():
            (self.path / SINCE).touch(0o600)

    def describe(self, texts: dict[str, str]) -> None:
        """Put files beside the snapshots; a name without a text is removed. Raises OSError."""
        for name, text in texts.items():
            if text:
                replace_text(str(self.path / name), text)
            else:
                (self.path / name).unlink(missing_ok=True)

    def be_found_by(self, directory: str, name: str) -> None:
        """Leave word in a directory of the library where processes look for this name."""
        place = self.path.parent / directory
        place.mkdir(0o700, exist_ok=True)
        (place / name).touch(0o600)

    def remove(self) -> int:
        """Remove its snapshots; return how many bytes that gives. Processes that have one mapped keep it.

        The entry stays, empty, for a day: ranks of a job that starts now must all find it, or none.
        """
        size = self.size()
        for image in self.images:
            shutil.rmtree(image.parent, ignore_errors=True)
        for name in (FACTS, HEAD, HEAD_DIRECTORY, REACH):
            (self.path / name).unlink(missing_ok=True)
        return size


def leave_word(library: Path, key: str, why: str) -> None:
    """Say why a job that had a snapshot made got none."""
    with suppress(OSError):
        replace_text(str(library / TRIED / key), why)


def entries(library: Path) -> list[Entry]:
    """Return the entries of a library, the one used last first. What is left of others goes when a day old."""
    found = []
    for tried in (library / TRIED).glob("*"):
        if time.time() - tried.stat().st_mtime > A_DAY:
            tried.unlink(missing_ok=True)
    for since in library.glob(f"*/{SINCE}"):
        entry = Entry(since.parent)
        if entry.images:
            found.append(entry)
        elif time.time() - entry.path.stat().st_mtime > A_DAY:
            shutil.rmtree(entry.path, ignore_errors=True)
    return sorted(found, key=Entry.used, reverse=True)


def evict(library: Path, keep: Entry, largest: int = LARGEST) -> list[Entry]:
    """Remove what was used longest ago until a library has no more than so many bytes; return what has gone."""
    found, gone = entries(library), []
    total = sum(map(Entry.size, found))
    for entry in reversed(found):
        if total > largest and entry != keep:
            total -= entry.remove()
            gone.append(entry)
    return gone
