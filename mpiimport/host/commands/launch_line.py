"""What the ranks run, as it stands on the line of a launcher."""

import re
import shutil
from itertools import pairwise

PYTHON = re.compile(r"(?:.*/)?python(?:-mpi|[\d.]*t?)")
BEHIND_MODULE = ["-m", "mpiimport"]
# The next word says how the launcher comes to other nodes.
AGENTS = {"-launcher", "-launcher-exec", "-bootstrap", "-bootstrap-exec"}
# Between the programs of several groups of ranks.
SEPARATOR = ":"


def words_of_ranks(line: list[str]) -> list[str] | None:
    """Return what stands behind the python that the launcher itself starts; None where another program may come first.

    Nobody here knows which options of a launcher take a value, but a value is no program.
    """
    place = next((place for place, word in enumerate(line) if place and PYTHON.fullmatch(word)), 0)
    if not place or SEPARATOR in line:
        return None
    values = (word for before, word in pairwise(line[:place]) if before not in AGENTS and not word.startswith("-"))
    if any(map(shutil.which, values)):
        return None
    words = line[place + 1 :]
    return words[2:] if words[:2] == BEHIND_MODULE else words
