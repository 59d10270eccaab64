"""An index comes out of the store as root put it in, and damage of any kind is noticed."""

import random
import subprocess
import sys

import pytest

from mpiimport.runtime.index import DIRECTORY, FILE, Damaged, Index, digest
from tests.conftest import ROOT


def sample(number_of_modules: int) -> Index:
    """An index with every kind of entry in it."""
    directory = "/opt/tree/package"
    names = [f"module_{number}.py" for number in range(number_of_modules)]
    return Index(
        listings={"/opt/tree": {"package": DIRECTORY, "überall.py": FILE}, directory: dict.fromkeys(names, FILE)},
        writable=["/home/user", "/home/user/\udcff"],
        absent=["/opt/tree/python311.zip"],
        code={
            f"{directory}/{name}": (number * 1000, 1000, digest(name.encode()), 1_700_000_000 + number, 1 << 33)
            for number, name in enumerate(names)
        },
        libraries=[f"{directory}/ext.so", "/opt/tree/package.libs/libneed.so"],
        needs={f"{directory}/ext.so": ["/opt/tree/package.libs/libneed.so"], f"{directory}/alone.so": []},
        metadata={"/opt/tree/package-1.dist-info": {"METADATA": "Name: package\n", "top_level.txt": ""}},
        answers={
            ("isdir", "/opt/tree"): True,
            ("listdir", "/opt/tree"): ["package"],
            ("content", "/opt/tree/site.pth"): b"import package\n",
            ("lstat", "/opt/tree/site.pth"): [33188, 1, 2, 1, 0, 0, 15, 1.5, 2.5, 3.5],
            ("content", "/opt/tree/absent.pth"): (2, "No such file or directory"),
        },
    )


def fields(index: Index) -> dict[str, object]:
    return {name: getattr(index, name) for name in Index.__slots__}


@pytest.mark.parametrize("number_of_modules", [0, 1, 1000])
def test_every_field_survives_packing(number_of_modules: int) -> None:
    index = sample(number_of_modules)
    assert fields(Index.unpack(index.pack())) == fields(index)


def test_an_empty_index_survives_packing() -> None:
    empty = Index({}, [], [], {}, [], {}, {}, {})
    assert fields(Index.unpack(empty.pack())) == fields(empty)


def test_an_index_is_read_by_another_process() -> None:
    program = "import sys; from tests.unit.test_index import sample; sys.stdout.buffer.write(sample(50).pack())"
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, cwd=ROOT, env=environment
        )
        assert fields(Index.unpack(done.stdout)) == fields(sample(50))


def test_every_flipped_bit_of_a_small_index_is_noticed() -> None:
    packed = sample(1).pack()
    assert len(packed) > 500
    assert [bit for bit in range(len(packed) * 8) if is_accepted(flipped(packed, bit))] == []


def test_flipped_bits_of_a_large_index_are_noticed() -> None:
    packed = sample(2000).pack()
    bits = {*range(200), *random.Random(0).sample(range(len(packed) * 8), 500), len(packed) * 8 - 1}
    assert [bit for bit in bits if is_accepted(flipped(packed, bit))] == []


def test_every_shortened_or_lengthened_index_is_noticed() -> None:
    packed = sample(1).pack()
    assert [length for length in range(len(packed)) if is_accepted(packed[:length])] == []
    assert not any(is_accepted(packed + bytes(count)) for count in (1, 7, 8, 4096))
    assert not is_accepted(bytes(len(packed)))
    assert not is_accepted(packed[8:] + packed[:8])


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
