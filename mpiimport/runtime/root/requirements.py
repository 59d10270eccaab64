"""What a distribution cannot do without, by its metadata (core metadata specification, Requires-Dist)."""

import os
import re

from ..index import DIRECTORY
from .reading import read_file
from .tree import Tree

REQUIREMENT = re.compile(r"^Requires-Dist: *([A-Za-z0-9._-]+)(?![^\n]*\bextra\b)", re.MULTILINE)


class Requirements:
    """What the distributions of a tree require. Top-level modules stand for the distributions of the same name."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._directories: dict[str, str] = {}
        self._required: dict[str, set[str]] = {}

    def has(self, top: str, other: str) -> bool:
        """Tell whether the distribution of the top-level module ``top`` requires that of ``other``, extras apart."""
        return _normalised(other) in self.of(top)

    def of(self, top: str) -> set[str]:
        """Return the names of the distributions required, in lower case and with underscores."""
        if top not in self._required:
            self._required[top] = self._read(top)
        return self._required[top]

    def _read(self, top: str) -> set[str]:
        if not self._directories:
            for parent in self._tree.path:
                for name, kind in (self._tree.listing(parent) or {}).items():
                    if kind == DIRECTORY and name.endswith(".dist-info"):
                        self._directories.setdefault(_normalised(name.partition("-")[0]), os.path.join(parent, name))
        directory = self._directories.get(_normalised(top))
        if directory is None:
            return set()
        try:
            text = read_file(os.path.join(directory, "METADATA")).decode(errors="replace")
        except OSError:
            return set()
        return {_normalised(name) for name in REQUIREMENT.findall(text)}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()
