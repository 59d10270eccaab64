"""A warm image among the kept stores: ``publishing.py DIRECTORY STATUS PYTHON OPTIONS... PROGRAM [ARGUMENTS]``.

A process that was asked to fill a kept store becomes this one. DIRECTORY is the place of those stores; STATUS the one
to end with where all goes well; PYTHON the name by which the door starts Python, - for its usual ones; OPTIONS are the
interpreter's, and PROGRAM is a script, or -m and a module.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGES))

from mpiimport.rank_variables import speaks_for_job  # noqa: E402
from mpiimport.runtime.options import from_environment  # noqa: E402
from mpiimport.runtime.program import Program  # noqa: E402
from mpiimport.runtime.size import in_words  # noqa: E402
from mpiimport.runtime.store.place import IMAGE, LEASE, LEFT_OUT, PROGRAMS, REFUSED, Place  # noqa: E402
from mpiimport.runtime.store.store import NoRoom, Store  # noqa: E402
from mpiimport.warm.maker import Made, make, split  # noqa: E402
from mpiimport.warm.memory_map import Refused  # noqa: E402

DOOR = PACKAGES.parent / "bin" / "python-mpi"
SECONDS = 60
# As the door looks for them along PATH: hooks/cmd/python-mpi.
USUAL, PYTHONS = "-", ("python", "python3")


def publish(place: Place, name: str, words: list[str]) -> str:
    """Make the image of a program, and let whoever comes start from it, or see why there is none. Return what to say.

    ``name``: that of Python; ``words``: the interpreter's options, the script or -m and the module, and its arguments.
    Where another process of this node makes it there is nothing to say. Raises Refused, where there is no image.
    """
    python, looked_at = _python(PYTHONS if name == USUAL else (name,))
    (_, *options), program = split([python, *words])
    if options:
        raise Refused(f"{DOOR.name} starts python without options: {' '.join(options)}")
    place.complete()
    key = _key(name, program)
    if from_environment().session and os.path.lexists(place.path(PROGRAMS, key)):
        # For the session of a command the tree is as it was.
        return ""
    filling = place.begin_filling(key, rest=0)
    if filling is None:
        return ""
    try:
        place.sweep(LEASE)
        return _fill(place, key, [python, *program], looked_at)
    finally:
        os.close(filling)


def _fill(place: Place, key: str, command: list[str], looked_at: list[str]) -> str:
    try:
        store = place.create({}, from_environment())
    except NoRoom as exc:
        raise Refused(str(exc)) from None
    try:
        identity = Program.parse(command[1:]).identity()
        try:
            made = _make(store, command, place, looked_at)
        except Refused as exc:
            Path(store.path(REFUSED)).write_text(str(exc), errors="surrogateescape")
            place.publish(key, store, identity)
            raise
        reasons = "".join(f"{name}: {why}\n" for name, why in made.verdict.reasons().items())
        Path(store.path(LEFT_OUT)).write_text(reasons, errors="surrogateescape")
        place.publish(key, store, identity)
    finally:
        store.leave()
    left = f", {len(made.verdict.left_out)} left to the ranks" if made.verdict.left_out else ""
    return f"a warm image of {identity} is kept: {len(made.verdict.modules)} modules{left}, {in_words(made.size)}"


def _make(store: Store, command: list[str], place: Place, looked_at: list[str]) -> Made:
    if not store.executable:
        raise Refused(f"nothing in {place.directory} can be executed (noexec); name another directory, MPIIMPORT_STORE")
    try:
        return make(Path(store.path(IMAGE)), command, place=Path(place.directory), files=looked_at)
    except (OSError, subprocess.SubprocessError) as exc:
        raise Refused(repr(exc)) from None


def _python(names: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return the Python that the door starts, and all paths that it would look at. Raises Refused."""
    looked_at = []
    directories = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for name in names:
        for path in [name] if "/" in name else [os.path.join(directory, name) for directory in directories]:
            looked_at.append(path)
            if shutil.which(path):
                return path, looked_at
    raise Refused(f"there is no {names[0]} on PATH")


def _key(python: str, program: list[str]) -> str:
    """Ask the door by which name it looks for the image of a program. Raises Refused."""
    try:
        asked = subprocess.run([DOOR, "--image", python, *program], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as exc:
        raise Refused(f"{DOOR} cannot be asked: {exc}") from None
    if asked.returncode:
        raise Refused(asked.stderr.strip())
    return asked.stdout.strip()


def main(directory: str, status: str, python: str, *words: str) -> int:
    """Publish, say what came of it, and return the exit status."""
    try:
        said, ended = publish(Place(directory), python, list(words)), int(status)
    except Refused as exc:
        said, ended = f"no warm image is kept: {exc}", 1
    if said and speaks_for_job(os.environ):
        print(f"mpiimport: {said}", file=sys.stderr)
    return ended


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
