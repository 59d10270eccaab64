"""``mpiimport bake --snapshot FILE -- COMMAND``: an image of an interpreter that has imported a program's modules."""

from pathlib import Path

from mpiimport.snapshot.image.checking import check
from mpiimport.snapshot.image.describing import MEGABYTE, described
from mpiimport.snapshot.image.maker import make
from mpiimport.snapshot.image_format import Damaged
from mpiimport.snapshot.memory_map import Refused

from ..complaint import Complaint
from .filling_line import PYTHON


def bake_snapshot(image: Path, command: list[str], without: tuple[str, ...] = ()) -> int:
    """Make an image, and say what is in it and what is not. ``without``: see maker. Raises Complaint."""
    if not command:
        raise Complaint("give the program after --: mpiimport bake --snapshot FILE -- python app.py")
    if not PYTHON.fullmatch(Path(command[0]).name):
        raise Complaint(
            f"{command[0]} is no python of this machine; for a whole job's command there is mpiimport prepare"
        )
    try:
        made = make(image, command, without)
    except Refused as exc:
        raise Complaint(f"no image is made: {exc}") from None
    print("\n".join(described(str(image), made)))
    return 0


def check_snapshot(image: Path) -> int:
    """Look at every byte of an image. Raises Complaint where one is not as it was written."""
    try:
        size = check(image)
    except (Damaged, OSError) as exc:
        raise Complaint(
            f"{image} is damaged or cannot be read: {exc}; make it anew: mpiimport bake --snapshot"
        ) from None
    print(f"{image}: header, tables and {size / MEGABYTE:.1f} MB of pages are as they were written")
    return 0
