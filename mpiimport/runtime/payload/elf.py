"""What a shared library says about itself: what it needs, where it looks for it, its constant strings.

Only 64-bit little-endian ELF, which is what every MPI machine in use runs; anything else raises ``NotElf``.
Layout: System V ABI, generic supplement, chapters 4 and 5.
"""

from .. import os
from .counted_files import counted

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 10, 14, 15, 29
SHT_PROGBITS, SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 1, 2, 4

SEGMENT_SIZE, SECTION_SIZE = 56, 64
# Functions of ld.so for which it counts where the library that calls them lies: its RPATH or RUNPATH, its directory.
BY_PLACE = b"dlopen\0", b"dlmopen\0", b"dlinfo\0"
# Sections of constants that hold no literals, but how to unwind the stack: half of all.
UNWINDING = (b".eh_frame", b".gcc_except_table")


class NotElf(ValueError):
    """The file is not a 64-bit little-endian ELF object, or is cut short."""


class SharedObject:
    """The dynamic section of one library.

    ``needed``: sonames in order; ``soname``: its own, empty without one; ``rpath``, ``runpath``: their entries,
    ``$ORIGIN`` unexpanded; ``opens``: whether it may have ld.so look for further ones while it runs.
    """

    __slots__ = ("needed", "opens", "rpath", "runpath", "soname")

    def __init__(self, needed: list[str], soname: str, rpath: list[str], runpath: list[str], opens: bool) -> None:
        self.needed = needed
        self.opens = opens
        self.soname = soname
        self.rpath = rpath
        self.runpath = runpath


def shared_object_at(path: str) -> SharedObject | None:
    """Return what the library at ``path`` says of itself; None where there is none."""
    try:
        fd = counted.open(path)
    except OSError:
        return None
    try:
        return read_shared_object(fd)
    except NotElf:
        return None
    finally:
        os.close(fd)


def read_shared_object(fd: int) -> SharedObject:
    """Parse the dynamic section of the library open as ``fd``; its file position is not moved."""
    loads, dynamic = _segments(fd, _header(fd))
    entries = _words(_read(fd, dynamic[0], dynamic[1])) if dynamic else []
    pairs = list(zip(entries[::2], entries[1::2], strict=False))
    values = dict(pairs)
    names = b""
    if DT_STRTAB in values:
        names = _read(fd, _file_offset(loads, values[DT_STRTAB]), values.get(DT_STRSZ, 0))

    def name_at(offset: int) -> str:
        return os.fsdecode(names[offset : names.find(b"\0", offset)])

    def entries_at(tag: int) -> list[str]:
        return [entry for entry in name_at(values[tag]).split(":") if entry] if tag in values else []

    needed = [name_at(value) for tag, value in pairs if tag == DT_NEEDED]
    soname = name_at(values[DT_SONAME]) if DT_SONAME in values else ""
    # A library that has such a name for something else, or as the end of another, is taken for one that opens some.
    opens = any(name in names for name in BY_PLACE)
    return SharedObject(needed, soname, entries_at(DT_RPATH), entries_at(DT_RUNPATH), opens)


def read_constants(fd: int) -> bytes:
    """Return the read-only data sections of the library, where compilers put string literals."""
    header = _header(fd)
    table, size, count = _int(header, 40, 8), _int(header, 58, 2), _int(header, 60, 2)
    if count and size < SECTION_SIZE:
        raise NotElf("the table of sections is damaged")
    sections = _read(fd, table, size * count)
    names_at = _int(header, 62, 2) * size
    names = _section(fd, sections, names_at) if 0 < names_at < len(sections) else b""
    constants = []
    for start in range(0, len(sections), size or 1):
        kind, flags = _int(sections, start + 4, 4), _int(sections, start + 8, 8)
        is_constant = kind == SHT_PROGBITS and flags & (SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC
        if is_constant and not names.startswith(UNWINDING, _int(sections, start, 4)):
            constants.append(_section(fd, sections, start))
    return b"\0".join(constants)


def _section(fd: int, sections: bytes, start: int) -> bytes:
    """Return the content of the section that the entry at ``start`` of their table describes."""
    return _read(fd, _int(sections, start + 24, 8), _int(sections, start + 32, 8))


def _header(fd: int) -> bytes:
    header = os.pread(fd, 64, 0)
    counted.count_bytes(len(header))
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
        raise NotElf("not a 64-bit little-endian ELF file")
    return header


def _segments(fd: int, header: bytes) -> tuple[list[tuple[int, int, int]], tuple[int, int] | None]:
    """Return the loadable segments as (address, offset, size) and the dynamic one as (offset, size)."""
    table, size, count = _int(header, 32, 8), _int(header, 54, 2), _int(header, 56, 2)
    if count and size < SEGMENT_SIZE:
        raise NotElf("the table of segments is damaged")
    raw = _read(fd, table, size * count)
    loads = []
    dynamic = None
    for start in range(0, len(raw), size or 1):
        kind, offset = _int(raw, start, 4), _int(raw, start + 8, 8)
        address, length = _int(raw, start + 16, 8), _int(raw, start + 32, 8)
        if kind == PT_LOAD:
            loads.append((address, offset, length))
        elif kind == PT_DYNAMIC:
            dynamic = (offset, length)
    return loads, dynamic


def _read(fd: int, offset: int, length: int) -> bytes:
    if offset + length > os.fstat(fd).st_size:
        raise NotElf("cut short, or an entry points outside the file")
    data = os.pread(fd, length, offset)
    counted.count_bytes(len(data))
    return data


def _file_offset(loads: list[tuple[int, int, int]], address: int) -> int:
    for start, offset, length in loads:
        if start <= address < start + length:
            return address - start + offset
    raise NotElf("a dynamic entry points outside the file")


def _words(raw: bytes) -> list[int]:
    return [_int(raw, start, 8) for start in range(0, len(raw) - 7, 8)]


def _int(raw: bytes, start: int, length: int) -> int:
    return int.from_bytes(raw[start : start + length], "little")
