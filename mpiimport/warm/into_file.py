"""An image in a file of the user's own, as `mpiimport bake --warm` wants it.

    into_file.py FILE PYTHON OPTIONS... PROGRAM [ARGUMENTS]

A process becomes this that the door, python-mpi, has started as the job would, in a container say, to make the image in
the place of running its program. PYTHON is the name by which the door starts Python, - for its usual ones; OPTIONS are
the interpreter's, and PROGRAM is a script, or -m and a module.
"""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mpiimport.warm.door import command_of, key_of
from mpiimport.warm.maker import Made, make
from mpiimport.warm.memory_map import Refused

MEGABYTE = 1e6


def write(file: Path, name: str, words: list[str]) -> int:
    """Write the image, say what is in it and what is not, and return the exit status."""
    try:
        if not os.access(file.parent, os.W_OK | os.X_OK):
            raise Refused(f"{file.parent} cannot be written to")
        command, looked_at = command_of(name, words)
        made = make(file, command, files=looked_at, key=key_of(name, command[1:]))
    except KeyboardInterrupt:
        return 1
    except Exception as exc:
        print(f"mpiimport: no image is made: {exc or type(exc).__name__}", file=sys.stderr)
        return 1
    print("\n".join(described(file.name, made)))
    return 0


def described(image: str, made: Made) -> list[str]:
    """Return lines for a person: what is in an image of this name, and what is not."""
    verdict, reasons = made.verdict, made.verdict.reasons()
    lines = [f"made {image}: {len(verdict.modules)} modules, {made.size / MEGABYTE:.1f} MB, {len(verdict.files)} files"]
    lines += [f"left out {name}: {why}" for name, why in reasons.items()]
    if len(reasons) < len(verdict.left_out):
        lines.append(f"left out for what they need: {len(verdict.left_out) - len(reasons)} modules")
    return lines


if __name__ == "__main__":
    # The directory may be seen under another name in a container.
    sys.exit(write(Path(os.path.abspath(sys.argv[1])), sys.argv[2], sys.argv[3:]))
