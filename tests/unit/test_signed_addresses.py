"""Return addresses that aarch64 has signed are those of no other process, and lie unsigned in a snapshot."""

import struct

from mpiimport.snapshot.image_format import ANONYMOUS, MAPPED
from mpiimport.snapshot.memory_map import Mapping, unsigned

TOP = 0xFFFF_F000_0000
CODE, DATA = 0xAAAA_0001_0000, 0xAAAA_0003_0000
FOUND = [
    Mapping(CODE, 1 << 16, 5, MAPPED, b"/bin/python3", 0, 0, 7),
    Mapping(DATA, 1 << 16, 3, ANONYMOUS, b"", 0, 0, 0),
]
SIGNATURE = 0x002B << 48


def test_signatures_of_code_go_and_all_else_stays() -> None:
    words = (CODE + 4, SIGNATURE | CODE + 8, SIGNATURE | DATA, (1 << 64) - 1, 0x3FF0 << 48, 5)
    stack = unsigned(struct.pack("<6Q", *words), TOP, FOUND)
    assert struct.unpack("<6Q", stack) == (words[0], CODE + 8, *words[2:])


def test_addresses_may_have_39_bits() -> None:
    found = [FOUND[0]._replace(start=0x55_5555_0000)]
    signed = 0x1234 << 39 | 0x55_5555_0040
    assert unsigned(struct.pack("<Q", signed), 0x7F_F000_0000, found) == struct.pack("<Q", 0x55_5555_0040)
