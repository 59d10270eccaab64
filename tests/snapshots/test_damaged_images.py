"""An image that is not as it was written leads to a fresh start, or is found by --check."""

import random
import shutil
import struct
from pathlib import Path

import pytest

from mpiimport.snapshot.image_format import BEFORE, CHECKSUM_AT, HEADER, MACHINE, MEMORY, PAGE, SECTIONS, THREAD
from mpiimport.snapshot.loading import load_extension

from .baked import NOT_USED, Baked

TEXT = "import json, re\nprint(json.dumps([1]))"

COUNT_OF_RUNS = BEFORE + THREAD + MEMORY + MACHINE + 2 * SECTIONS.index("runs") + 1


@pytest.fixture
def script(baked: Baked) -> str:
    script = baked.script(TEXT)
    baked.bake(script)
    return script


def fresh_and_right(baked: Baked, script: str) -> None:
    outcome = baked.start(script)
    assert outcome.stderr.startswith(NOT_USED) and outcome.stderr.count("\n") == 1, outcome
    assert (outcome.status, outcome.stdout) == (0, "[1]\n")


def test_header_and_tables_with_bytes_changed_anywhere(baked: Baked, script: str) -> None:
    whole = baked.image.read_bytes()
    tables_end = HEADER.unpack(whole[: HEADER.size])[4]
    chance = random.Random(2)
    for at in [*range(0, HEADER.size, 24), *(chance.randrange(tables_end) for _ in range(60))]:
        damaged = bytearray(whole)
        damaged[at] ^= chance.randrange(1, 256)
        baked.image.write_bytes(damaged)
        fresh_and_right(baked, script)


def test_truncated_anywhere(baked: Baked, script: str) -> None:
    whole = baked.image.read_bytes()
    chance = random.Random(3)
    sizes = [chance.randrange(len(whole)) for _ in range(30)]
    for size in [0, 1, HEADER.size - 1, HEADER.size, len(whole) - 1, *sizes]:
        baked.image.write_bytes(whole[:size])
        fresh_and_right(baked, script)


def test_longer_than_it_was(baked: Baked, script: str) -> None:
    with baked.image.open("ab") as stream:
        stream.write(bytes(4096))
    fresh_and_right(baked, script)


def test_the_check_finds_any_changed_byte_of_the_body(baked: Baked, script: str) -> None:
    assert baked.check().status == 0
    whole = baked.image.read_bytes()
    body_at = HEADER.unpack(whole[: HEADER.size])[5]
    chance = random.Random(4)
    for _ in range(5):
        damaged = bytearray(whole)
        damaged[chance.randrange(body_at, len(whole))] ^= 1
        baked.image.write_bytes(damaged)
        checked = baked.check()
        assert checked.status == 1 and "of its body" in checked.stderr


def edited(baked: Baked, prefix: Path, number: int, value: int) -> None:
    """Write another number into the header, and a checksum that fits: as of an image of another machine."""
    whole = baked.image.read_bytes()
    tables = bytearray(whole[: HEADER.unpack(whole[: HEADER.size])[4]])
    struct.pack_into("<Q", tables, 8 * number, value)
    struct.pack_into("<Q", tables, CHECKSUM_AT, 0)
    extension = load_extension(str(prefix / "lib/mpiimport/snapshot/freeze.so"))
    struct.pack_into("<Q", tables, CHECKSUM_AT, extension.digest(bytes(tables)))
    baked.image.write_bytes(bytes(tables) + whole[len(tables) :])


@pytest.mark.parametrize("part", ["processor", "kernel", "vdso", "number of processors"])
def test_of_another_machine(baked: Baked, prefix: Path, script: str, part: str) -> None:
    number = BEFORE + THREAD + MEMORY + ["processor", "kernel", "vdso", "number of processors"].index(part)
    edited(baked, prefix, number, 99)
    outcome = baked.start_fresh(part, script)
    assert outcome.stdout == "[1]\n"


def test_made_with_pages_of_another_size(baked: Baked, prefix: Path, script: str) -> None:
    edited(baked, prefix, BEFORE - 1, 1 << 12 if PAGE > 1 << 12 else 1 << 16)
    assert baked.start_fresh("pages of another size", script).stdout == "[1]\n"


def test_every_number_of_the_header_is_checked_before_use(baked: Baked, prefix: Path, script: str) -> None:
    """The starter itself never crashes, even where somebody has made the checksum fit.

    Then the thread's registers may lead anywhere in the image, and fewer pages than there were may be mapped.
    """
    whole = baked.image.read_bytes()
    # Of the break and the ends of code and data the kernel checks what it needs.
    trusted = range(BEFORE + THREAD, BEFORE + THREAD + MEMORY)
    for number in range(4, HEADER.size // 8):
        for value in (0, 1 << 20, (1 << 64) - 1):
            if number in trusted:
                continue
            baked.image.write_bytes(whole)
            edited(baked, prefix, number, value)
            outcome = baked.start(script)
            assert outcome.status is not None and outcome.status in (0, -11), (number, value, outcome)
            if outcome.status:
                assert BEFORE <= number < BEFORE + THREAD or number == COUNT_OF_RUNS, (number, value)


def test_swapped_for_the_image_of_another_program(baked: Baked, script: str) -> None:
    other = baked.script("import decimal, argparse\nprint(decimal.Decimal(1))", "other.py")
    kept = baked.image.read_bytes()
    baked.bake(other)
    assert baked.start_fresh("begins with other statements", script).stdout == "[1]\n"
    baked.image.write_bytes(kept)
    assert baked.start_fresh("begins with other statements", other).stdout == "1\n"


def test_that_others_can_write_to(baked: Baked, script: str) -> None:
    baked.image.chmod(0o620)
    baked.start_fresh("others can write to it", script)


def test_that_is_not_there_or_a_link(baked: Baked, script: str) -> None:
    kept = baked.image.with_name("kept")
    baked.image.rename(kept)
    baked.start_fresh("cannot be opened", script)
    baked.image.symlink_to(kept)
    baked.start_fresh("cannot be opened", script)
    baked.image.unlink()
    shutil.rmtree(kept, ignore_errors=True)
    baked.image.with_name(baked.image.name + ".plain").unlink()
    assert baked.start(script).status == 127
