"""``mpiimport bake --warm FILE -- python app.py``: an interpreter that has imported its modules."""

from pathlib import Path

from mpiimport.warm.checking import check
from mpiimport.warm.image_format import Damaged
from mpiimport.warm.maker import make
from mpiimport.warm.memory_map import Refused

from ..complaint import Complaint

MEGABYTE = 1e6


def bake_warm(image: Path, command: list[str], without: tuple[str, ...] = ()) -> int:
    """Make an image, and say what is in it and what is not. ``without``: see maker. Raises Complaint."""
    if not command:
        raise Complaint("give the program after --: mpiimport bake --warm FILE -- python app.py")
    try:
        made = make(image, command, without)
    except Refused as exc:
        raise Complaint(f"no image is made: {exc}") from None
    verdict = made.verdict
    print(f"made {image}: {len(verdict.modules)} modules, {made.size / MEGABYTE:.1f} MB, {len(verdict.files)} files")
    reasons = verdict.reasons()
    for name, why in reasons.items():
        print(f"left out {name}: {why}")
    if len(reasons) < len(verdict.left_out):
        print(f"left out for what they need: {len(verdict.left_out) - len(reasons)} modules")
    return 0


def check_warm(image: Path) -> int:
    """Look at every byte of an image. Raises Complaint where one is not as it was written."""
    try:
        size = check(image)
    except (Damaged, OSError) as exc:
        raise Complaint(f"{image} is damaged or cannot be read: {exc}; make it anew: mpiimport bake --warm") from None
    print(f"{image}: header, tables and {size / MEGABYTE:.1f} MB of pages are as they were written")
    return 0
