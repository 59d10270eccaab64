"""What a stopped process has in memory, by proc(5)."""

import os
import re
from typing import NamedTuple

from .image_format import ANONYMOUS, MAPPED, PAGE, STACK, VDSO, VVAR

LINE = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)")
PRESENT, SWAPPED, OF_FILE = 1 << 63, 1 << 62, 1 << 61
# Of smaps, VmFlags: MADV_DONTFORK, mlock, io mapping, memory tags of aarch64; and MADV_WIPEONFORK.
NOT_TO_BE_COPIED = {b"dc": "MADV_DONTFORK", b"lo": "mlock", b"io": "of a device", b"mt": "PROT_MTE"}
WIPED_IN_FORK = b"wf"
EXECUTED = 4


class Refused(Exception):
    """There can be no image; the text says why."""


class Mapping(NamedTuple):
    """``kind`` as in image_format; ``path``: empty but for files; ``offset``: in the file, bytes."""

    start: int
    size: int
    protection: int
    kind: int
    path: bytes
    offset: int
    device: int
    inode: int


def mappings(pid: int) -> list[Mapping]:
    """Return the mappings of a process. Raises Refused for what no other process can have."""
    found = []
    with open(f"/proc/{pid}/maps", "rb") as stream:
        for line in stream.read().splitlines():
            match = LINE.fullmatch(line)
            if match is None:
                raise Refused(f"a mapping is of no known form: {line!r}")
            mapping = _mapping(match)
            if mapping is not None:
                found.append(mapping)
    return found


def _mapping(match: "re.Match[bytes]") -> "Mapping | None":
    start, end, name = int(match[1], 16), int(match[2], 16), match[8]
    if name == b"[vsyscall]":
        return None
    protection = sum(bit for bit, letter in zip((1, 2, 4), b"rwx", strict=True) if letter in match[3])
    kind, path = ANONYMOUS, b""
    if name == b"[stack]":
        kind = STACK
    elif name == b"[vdso]":
        kind = VDSO
    elif name.startswith(b"[vvar"):
        kind = VVAR
    elif int(match[7]):
        kind, path = MAPPED, name
    shown = os.fsdecode(name)
    if match[3].endswith(b"s") and protection & 2:
        raise Refused(f"memory is shared with others: {shown}")
    if path.endswith(b" (deleted)"):
        raise Refused(f"a mapped file is no more: {shown}")
    device = os.makedev(int(match[5], 16), int(match[6], 16))
    return Mapping(start, end - start, protection, kind, path, int(match[4], 16), device, int(match[7]))


def wiped_in_fork(pid: int) -> set[int]:
    """Return where memory begins that is zero in a forked process: the C library has its random numbers there, since
    glibc 2.41. Raises Refused where memory is marked as one process's own in another way.
    """
    wiped = set()
    with open(f"/proc/{pid}/smaps", "rb") as stream:
        start, of_kernel = 0, False
        for line in stream:
            match = LINE.match(line)
            if match:
                start, of_kernel = int(match[1], 16), b"[v" in line
            elif line.startswith(b"VmFlags:") and not of_kernel:
                for flag in line.split()[1:]:
                    if flag == WIPED_IN_FORK:
                        wiped.add(start)
                    if flag in NOT_TO_BE_COPIED:
                        raise Refused(f"memory may not be copied: {NOT_TO_BE_COPIED[flag]}")
    return wiped


def own_pages(pid: int, mapping: Mapping) -> list[bool]:
    """Tell of each page whether the process has one of its own: neither untouched, nor as its file has it."""
    with open(f"/proc/{pid}/pagemap", "rb") as stream:
        stream.seek(mapping.start // PAGE * 8)
        data = memoryview(stream.read(mapping.size // PAGE * 8)).cast("Q")
    return [bool(entry & (PRESENT | SWAPPED)) and not entry & OF_FILE for entry in data]


def unsigned(stack: bytes, top: int, found: "list[Mapping]") -> bytes:
    """Return what of a stack that ends at ``top`` lies there, with return addresses as they are without signatures.

    Those of aarch64 (PAC) are in the bits which no address has, and by keys of one process. An image's have none:
    see sign_no_addresses() of restorer/processor_aarch64.h.
    """
    addresses = (1 << top.bit_length()) - 1
    code = [range(each.start, each.start + each.size) for each in found if each.protection & EXECUTED]
    words = memoryview(bytearray(stack)).cast("Q")
    for number, each in enumerate(words):
        if each > addresses and any(each & addresses in piece for piece in code):
            words[number] = each & addresses
    return words.tobytes()


def memory_of(pid: int) -> tuple[int, ...]:
    """Return start_code, end_code, start_data, end_data, start_brk and start_stack, by proc(5), stat."""
    with open(f"/proc/{pid}/stat", "rb") as stream:
        fields = stream.read().rpartition(b")")[2].split()
    return tuple(int(fields[number - 3]) for number in (26, 27, 45, 46, 47, 28))
