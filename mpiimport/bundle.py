"""Writes the modules of the rank path as one file, which a rank opens instead of forty: ``python bundle.py``.

There is one file for each version of Python, beside this one: the magic number of its bytecode; a digest of all our
source files, which ``start.py`` is given too; then, as marshal has it, a mapping from the name of each module to its
file, relative to this directory, and its code, which is marshalled on its own: most processes need a part of them.
"""

import marshal
import re
import sys
from hashlib import sha256
from importlib.util import MAGIC_NUMBER
from pathlib import Path

HERE = Path(__file__).resolve().parent
DIRECTORIES = ("", *(f"runtime/{name}" for name in ("", "mpi", "report", "importing", "startup", "store")))
LEFT_OUT = {"__main__.py", "bundle.py", "start.py"}
START = HERE / "start.py"
DIGEST = re.compile(r'^FILES_DIGEST = ".*"$', re.MULTILINE)


def main() -> None:
    """Write the file for the running Python, whole or not at all, and the digest in the start script."""
    files = [file for directory in DIRECTORIES for file in sorted((HERE / directory).glob("*.py"))]
    modules = {_name(file): (str(file.relative_to(HERE)), _code(file)) for file in files if file.name not in LEFT_OUT}
    digest = _digest()
    content = MAGIC_NUMBER + digest.encode() + marshal.dumps(modules)
    _write(HERE / f"rank_path.{sys.implementation.cache_tag}", content)
    script = START.read_text(encoding="utf-8")
    stamped = DIGEST.sub(f'FILES_DIGEST = "{digest}"', script)
    if stamped != script:
        _write(START, stamped.encode())


def _digest() -> str:
    """Return what tells these source files, those that run on root alone among them, from others."""
    found = sha256()
    for file in sorted({*HERE.glob("*.py"), *HERE.glob("runtime/**/*.py")} - {START}):
        content = file.read_bytes()
        found.update(f"{file.relative_to(HERE)} {len(content)}\n".encode() + content)
    found.update(DIGEST.sub("", START.read_text(encoding="utf-8")).encode())
    return found.hexdigest()[:32]


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(content)
    if path.exists():
        fresh.chmod(path.stat().st_mode)
    fresh.replace(path)


def _name(file: Path) -> str:
    parts = ["mpiimport", *file.relative_to(HERE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _code(file: Path) -> bytes:
    # Named as runtime/own_files.py says. Without docstrings: nobody asks for them, and each process would read them.
    name = f"<frozen importlib.{_name(file)}>"
    return marshal.dumps(compile(file.read_bytes(), name, "exec", dont_inherit=True, optimize=2))


if __name__ == "__main__":
    main()
