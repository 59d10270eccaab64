"""Libraries without code."""

import os
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

DT_NULL, DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_SONAME, DT_RPATH, DT_RUNPATH = (
    *(0, 1, 5, 6, 10, 11, 14, 15, 29),
)


@dataclass(frozen=True)
class Library:
    """A library without code; ``narrow`` makes it one of a 32-bit machine, ``nameless`` one without a soname.

    ``function``: one that it imports.
    """

    needed: tuple[str, ...] = ()
    rpath: str = ""
    runpath: str = ""
    narrow: bool = False
    nameless: bool = False
    function: str = ""

    def write(self, path: Path) -> None:
        """Write what the System V ABI asks for, and no more, so that ld.so accepts it."""
        strings = b"\0" + os.fsencode(self.function) + b"\0"
        entries = []
        names = [(DT_NEEDED, name) for name in self.needed]
        names += [(DT_SONAME, "" if self.nameless else path.name), (DT_RPATH, self.rpath), (DT_RUNPATH, self.runpath)]
        for tag, text in names:
            if text:
                entries.append((tag, len(strings)))
                strings += os.fsencode(text) + b"\0"
        dynamic = 64 + 2 * 56
        size = 16 * (len(entries) + 5)
        symbols = dynamic + size
        names_at = symbols + 24
        entries += [
            (DT_STRTAB, names_at),
            (DT_STRSZ, len(strings)),
            (DT_SYMTAB, symbols),
            (DT_SYMENT, 24),
            (DT_NULL, 0),
        ]
        end = names_at + len(strings)
        machine = Path(sys.executable).read_bytes()[18:20]
        header = b"\x7fELF" + bytes([1 if self.narrow else 2, 1, 1]) + bytes(9) + struct.pack("<H", 3) + machine
        header += struct.pack("<IQQQIHHHHHH", 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
        segments = struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, end, end, 4096)
        segments += struct.pack("<IIQQQQQQ", 2, 6, dynamic, dynamic, dynamic, size, size, 8)
        table = b"".join(struct.pack("<QQ", *entry) for entry in entries)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(header + segments + table + bytes(24) + strings)
        path.chmod(0o755)
