"""Writes the modules of the rank path as one file, of which a rank opens one instead of forty: ``python bundle.py``.

There is one file for each version of Python, beside this one: the magic number of its bytecode, then, as marshal has
it, a mapping from the name of each module to its file, relative to this directory, and its code, which is marshalled on
its own: most processes need a part of them.
"""

import marshal
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path

HERE = Path(__file__).resolve().parent
DIRECTORIES = ("", "runtime", "runtime/transport")
LEFT_OUT = {"__main__.py", "bundle.py", "start.py"}


def main() -> None:
    """Write the file for the running Python, whole or not at all."""
    files = [file for directory in DIRECTORIES for file in sorted((HERE / directory).glob("*.py"))]
    modules = {_name(file): (str(file.relative_to(HERE)), _code(file)) for file in files if file.name not in LEFT_OUT}
    path = HERE / f"rank_path.{sys.implementation.cache_tag}"
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(MAGIC_NUMBER + marshal.dumps(modules))
    fresh.replace(path)


def _name(file: Path) -> str:
    parts = ["mpiimport", *file.relative_to(HERE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _code(file: Path) -> bytes:
    return marshal.dumps(compile(file.read_bytes(), str(file), "exec", dont_inherit=True))


if __name__ == "__main__":
    main()
