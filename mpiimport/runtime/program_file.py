"""The file of a program, read once: source or bytecode, as the interpreter takes it. PEP 263, PEP 3147."""

import io
from _frozen_importlib_external import MAGIC_NUMBER

from .machinery import loaded_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

MARK = b"\xef\xbb\xbf"
# The lines in which a source file may declare its encoding.
DECLARING = 2


class ProgramFile:
    """One file. ``failure``: why it could not be read."""

    def __init__(self, path: str) -> None:
        self.failure: OSError | None = None
        self._path = path
        self._data = b""
        try:
            with io.open_code(path) as stream:
                self._data = stream.read()
        except OSError as exc:
            self.failure = exc

    def text(self) -> bytes:
        """Return what the file holds; nothing where it could not be read."""
        return self._data

    def is_bytecode(self) -> bool:
        """Tell whether the interpreter takes it for a compiled file, by its name or its first bytes."""
        return self._path.endswith(".pyc") or self._data[:2] == MAGIC_NUMBER[:2]

    def is_readable(self) -> bool:
        """Tell whether we read it as the interpreter does. What it refuses to read, it explains best itself."""
        if self.failure is not None:
            return True
        if self.is_bytecode():
            return self._data[:4] == MAGIC_NUMBER and self._bytecode() is not None
        return b"\0" not in self._data and self._is_decodable()

    def code(self, name: str) -> "CodeType":
        """Return its code, which source gets the file name ``name``. Raises SyntaxError or ValueError."""
        code = self._bytecode() if self.is_bytecode() else None
        if code is not None:
            return code
        source: CodeType = compile(self._data, name, "exec", dont_inherit=True)
        return source

    def _bytecode(self) -> "CodeType | None":
        return loaded_code(self._data[16:])

    def _is_decodable(self) -> bool:
        """Tell whether the whole text is in the encoding that it declares, or in UTF-8."""
        encoding = _declared(self._data).replace("_", "-") or "utf-8"
        # The interpreter's own reader cannot do with these, nor with a mark of UTF-8 before anything else.
        is_other = encoding not in ("utf-8", "utf8")
        if is_other and (encoding.startswith("utf") or self._data.startswith(MARK)):
            return False
        try:
            self._data.decode(encoding)
        except (LookupError, ValueError):
            return False
        return True


def _declared(data: bytes) -> str:
    """Return the encoding that a text declares in a comment of its first lines, in small letters; empty for none."""
    for line in data.removeprefix(MARK).split(b"\n", DECLARING)[:DECLARING]:
        line = line.lstrip(b" \t\f")
        if not line.startswith(b"#"):
            if line.strip():
                break
            continue
        for separator in (b"coding:", b"coding="):
            _, found, rest = line.partition(separator)
            name = rest.lstrip(b" \t").decode("latin-1")
            other = [at for at, letter in enumerate(name) if not (letter.isalnum() or letter in "-_.")]
            name = name[: min(other, default=len(name))]
            if found and name:
                return name.lower()
    return ""
