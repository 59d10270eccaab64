"""Puts the text of a program together: what it begins with, and its blocks behind that."""

import random
import re

from tests.random_programs.begins import BEGINS, Begin
from tests.random_programs.blocks import PREAMBLE

FIRST = ("", "", '"""What it does."""\n', '"""What it does."""\nfrom __future__ import annotations\n')
# Numbers of begins follow behind those of blocks.
NUMBERS = 50


def chosen_begins(seed: int, uses_mpi: bool) -> list[Begin]:
    """Some of BEGINS, for every fourth seed none."""
    rng = random.Random(f"begins of {seed}")
    usable = [b for b in BEGINS if uses_mpi or not b.mpi]
    return rng.sample(usable, rng.randint(2, 6)) if seed % 4 else []


def begun(
    seed: int, begins: list[Begin], imports: str, parts: list[str], ends: bool
) -> tuple[str, dict[str, str | bytes], dict[str, str]]:
    """Return a program's text, and files and edits of its directory. ``imports``: further lines of its begin.

    ``parts``: the texts of its blocks; ``ends``: nothing is executed behind the last.
    """
    if not begins:
        return imports + PREAMBLE + "".join(parts), {}, {}
    rng = random.Random(f"begin of {seed}")
    before, behind = imports.splitlines(True), [*parts]
    files: dict[str, str | bytes] = {}
    edits: dict[str, str] = {}
    for number, each in enumerate(begins, NUMBERS):
        before.insert(rng.randint(0, len(before)), f"# {each.name}\n{replaced(rng, each.begin, number)}")
        behind.insert(rng.randint(0, len(behind) - ends), replaced(rng, each.text, number))
        for found, texts in ((files, each.files), (edits, each.edits)):
            found.update({name.replace("NN", str(number)): _numbered(text, number) for name, text in texts.items()})
    return "".join([rng.choice(FIRST), "import os, sys\n", *before, PREAMBLE, *behind]), files, edits


def replaced(rng: random.Random, text: str, number: int) -> str:
    """The text of a block with one of each of its alternatives, and its number."""
    text = re.sub(r"<<(.+?)>>(?!>)", lambda match: rng.choice(match[1].split("|")), text, flags=re.DOTALL)
    return text.replace("NN", str(number))


def _numbered(text: str | bytes, number: int) -> str:
    assert isinstance(text, str)
    return text.replace("NN", str(number))
