"""Programs as text, in files beside the tests that run them.

``=== NAME [TRAITS]`` stands in front of each, ``--- NAME`` in front of a further text of it, such as a file that it
brings. ``###`` begins a line for readers.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import but_everyday

NAMED = re.compile(r"(.*?)(?: \[([\w, ]+)\])?")
EVERYDAY = "everyday"


@dataclass(frozen=True)
class Text:
    """``further``: other texts of it, by name."""

    text: str
    traits: tuple[str, ...]
    further: dict[str, str]

    def __str__(self) -> str:
        return self.text


def read(path: Path) -> dict[str, Text]:
    """Return the texts of a file by name, in their order."""
    text = re.sub(r"^### .*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    parts = [_read(part) for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]]
    assert parts and len(parts) == len(dict(parts)), f"{path} has no texts, or two of one name"
    return dict(parts)


def _read(text: str) -> tuple[str, Text]:
    head, _, rest = text.partition("\n")
    found = NAMED.fullmatch(head)
    assert found
    first, *further = re.split(r"^--- ", rest, flags=re.MULTILINE)
    traits = tuple(found[2].split(", ")) if found[2] else ()
    return found[1], Text(first, traits, {name: body for name, _, body in (each.partition("\n") for each in further)})


def parameters(texts: dict[str, Text]) -> list[object]:
    """The names of texts, as the parameters of a test; those without a trait for that run in `make test-full` alone."""
    return but_everyday(texts, {name for name, each in texts.items() if EVERYDAY in each.traits})
