"""``mpiimport bake --warm FILE -- COMMAND``: an image of an interpreter that has imported a program's modules."""

import re
import signal
import subprocess
from pathlib import Path

from mpiimport.warm.checking import check
from mpiimport.warm.image_format import Damaged
from mpiimport.warm.into_file import MEGABYTE, described
from mpiimport.warm.maker import make
from mpiimport.warm.memory_map import Refused

from ..complaint import Complaint
from .session import asking_to_fill

PYTHON = re.compile(r"python[\d.]*")


def bake_warm(image: Path, command: list[str], without: tuple[str, ...] = ()) -> int:
    """Make an image, and say what is in it and what is not. ``without``: see maker. Raises Complaint.

    Where the command does not begin with a python of this machine, it is run, and the python in it makes the image.
    """
    if not command:
        raise Complaint("give the program after --: mpiimport bake --warm FILE -- python app.py")
    if not PYTHON.fullmatch(Path(command[0]).name):
        return _have_made(image, command)
    try:
        made = make(image, command, without)
    except Refused as exc:
        raise Complaint(f"no image is made: {exc}") from None
    print("\n".join(described(str(image), made)))
    return 0


def _have_made(image: Path, command: list[str]) -> int:
    """Have the process make the image that the command starts by python-mpi, as the job will: in a container, say."""
    environment = asking_to_fill("no image would be made")
    if not image.absolute().parent.is_dir() or image.is_dir():
        raise Complaint(f"no image is made: {image} is no name for a file")
    environment["MPIIMPORT_WARM"] = str(image.absolute())
    before = _identity(image)
    try:
        maker = subprocess.Popen(command, env=environment)
    except OSError as exc:
        raise Complaint(f"{command[0]} cannot be started: {exc.strerror}") from None
    try:
        status = maker.wait()
    except KeyboardInterrupt:
        # It may not have come to that process; it takes away what it has written.
        maker.send_signal(signal.SIGINT)
        maker.wait()
        raise
    if status == 0 and _identity(image) == before:
        raise Complaint(
            f"{command[0]} ended, and made no image: its python has to be started as the job will be, by python-mpi, "
            "or in a container by --mpiimport; see docs/warm-images.md"
        )
    return status


def _identity(image: Path) -> tuple[int, int]:
    """Return what tells a file from the one that had its name before; nothing is in the place of none."""
    try:
        status = image.stat()
    except OSError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def check_warm(image: Path) -> int:
    """Look at every byte of an image. Raises Complaint where one is not as it was written."""
    try:
        size = check(image)
    except (Damaged, OSError) as exc:
        raise Complaint(f"{image} is damaged or cannot be read: {exc}; make it anew: mpiimport bake --warm") from None
    print(f"{image}: header, tables and {size / MEGABYTE:.1f} MB of pages are as they were written")
    return 0
