"""Reads damaged libraries, one for each seed: ``python -m tests.installed.damaged_libraries FILE FIRST LAST SECONDS``.

Prints as JSON what escapes besides NotALibrary, by seed; on standard error each seed before it is tried. To be run by
a Python that has pyelftools, as that of the host commands has.
"""

import io
import json
import random
import resource
import sys
from pathlib import Path

from mpiimport.host.abi.shared_libraries import NotALibrary, read_library

# What a library says of its length is not to be believed.
MEMORY = 1 << 30


def main(file: str, first: int, last: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    image = Path(file).read_bytes()
    escaped = {}
    for seed in range(first, last):
        print(seed, file=sys.stderr)
        try:
            read_library(io.BytesIO(damaged(image, seed)))
        except NotALibrary:
            pass
        except BaseException as exc:
            escaped[seed] = repr(exc)
    print(json.dumps(escaped))


def damaged(image: bytes, seed: int) -> bytes:
    """Return a library with damage: bytes, words of one end of a number's range, or its own end missing."""
    chance = random.Random(seed)
    content = bytearray(image)
    # The headers, and the table of sections, which says where the rest lies, more often than the rest.
    places = [range(4, 1024), range(len(image) - 2048, len(image) - 8), range(len(image) - 8)]
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        place = chance.choice(chance.choice(places))
        size = chance.choice([1, 2, 4, 8])
        number = chance.choice([0, 1, 0x7F, 0xFF, chance.getrandbits(8)])
        filled = chance.choice([bytes([number]) * size, number.to_bytes(size, "little"), chance.randbytes(size)])
        content[place : place + size] = filled
    return bytes(content[: chance.choice([len(content)] * 9 + [chance.randrange(len(content))])])


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
