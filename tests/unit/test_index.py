"""An index comes out of the store as root put it in, and damage of any kind is noticed."""

import random
from typing import Any

import pytest

from mpiimport.runtime.digest import Damaged
from mpiimport.runtime.listing import DIRECTORY, FILE, LINK
from mpiimport.runtime.store.index import Index


def sample(number_of_modules: int) -> dict[str, Any]:
    """The fields of an index with every kind of entry in it."""
    directory = "/opt/tree/package"
    names = [f"module_{number}.py" for number in range(number_of_modules)]
    return {
        "listings": {"/opt/tree": {"package": DIRECTORY, "überall.py": FILE}, directory: dict.fromkeys(names, FILE)},
        "writable": {"/home/user": ((1, 2, 3, 4), {"params.py": FILE, "link.py": LINK}), "/home/user/\udcff": None},
        "absent": ["/opt/tree/python311.zip"],
        "code": {
            f"{directory}/{name}": (number * 1000, 1000, (1_700_000_000 + number, 1 << 33, 1, 2))
            for number, name in enumerate(names)
        },
        "libraries": {"/opt/tree/package.libs/libneed.so": (1, 2, 3, 4), f"{directory}/ext.so": (1, 2, 3, 5)},
        "needs": {f"{directory}/ext.so": ["/opt/tree/package.libs/libneed.so"], f"{directory}/alone.so": []},
        "own": {"/opt/tree/package.libs/libneed.so"},
        "searched": {"/opt/tree/package.libs": (1, 2, 3, 4), "/opt/nowhere": None},
        "unnamed": ["/opt/tree/package.libs/libneed.so"],
        "metadata": {"/opt/tree/package-1.dist-info": {"METADATA": (40, 14), "top_level.txt": None}},
        "answers": {
            ("isdir", "/opt/tree"): True,
            ("listdir", "/opt/tree"): ["package"],
            ("content", "/opt/tree/site.pth"): b"import package\n",
            ("lstat", "/opt/tree/site.pth"): [33188, 1, 2, 1, 0, 0, 15, 1.5, 2.5, 3.5],
            ("content", "/opt/tree/absent.pth"): (2, "No such file or directory"),
        },
        "aliases": {"/opt/tree/package.libs/libneed.so.1.0": "/opt/tree/package.libs/libneed.so"},
        "expected": {"package.module_0"},
        "linker": ["/opt/lib", "", ""],
        "mpi": {"/opt/mpi/libmpi.so.12": (["/opt/mpi/libfabric.so.1"], ["/opt/mpi/libmpi.so"], True)},
        "dependencies": b"digested",
        "mounts": "0123456789abcdef",
    }


def packed(number_of_modules: int) -> bytes:
    return Index(**sample(number_of_modules)).pack()


def survivors(packed: bytes) -> dict[str, Any]:
    """The fields of a packed index."""
    return vars(Index.unpack(packed))


@pytest.mark.parametrize("number_of_modules", [0, 1, 1000])
def test_every_field_survives_packing(number_of_modules: int) -> None:
    fields = sample(number_of_modules)
    assert survivors(Index(**fields).pack()) == fields


def test_an_empty_index_survives_packing() -> None:
    fields: dict[str, Any] = {name: type(field)() for name, field in sample(1).items()}
    assert survivors(Index(**fields).pack()) == fields


def test_every_flipped_bit_of_a_small_index_is_noticed() -> None:
    data = packed(1)
    assert len(data) > 500
    assert [bit for bit in range(len(data) * 8) if is_accepted(flipped(data, bit))] == []


def test_flipped_bits_of_a_large_index_are_noticed() -> None:
    data = packed(2000)
    bits = {*range(200), *random.Random(0).sample(range(len(data) * 8), 500), len(data) * 8 - 1}
    assert [bit for bit in bits if is_accepted(flipped(data, bit))] == []


def test_every_shortened_or_lengthened_index_is_noticed() -> None:
    data = packed(1)
    assert [length for length in range(len(data)) if is_accepted(data[:length])] == []
    assert not any(is_accepted(data + bytes(count)) for count in (1, 7, 8, 4096))
    assert not is_accepted(bytes(len(data)))
    assert not is_accepted(data[8:] + data[:8])


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def is_accepted(data: bytes) -> bool:
    """Whether the index is unpacked; any exception but Damaged fails the test."""
    try:
        Index.unpack(data)
    except Damaged:
        return False
    return True
