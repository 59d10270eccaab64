"""The stories of docs/workflows.md: each section's blocks, from the top to the bottom, as a reader would paste them.

A block that stands further in is for a shell; one fenced as ``text`` is what that printed; any other fenced one is a
part of an example that the section's commands name.
"""

import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import tomllib

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "workflows.md"
LISTS = Path(__file__).resolve().parent
PRINTED = "text"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BLOCK = re.compile(r"^```(\w*)\n((?s:.*?))^```$|^((?: {4}.*\n)+)", re.MULTILINE)
# What stands in for the reader's own.
PREFIX = "PREFIX"


@dataclass(frozen=True)
class Block:
    """``language``: of a fenced block, empty for what a shell runs."""

    language: str
    text: str


@dataclass(frozen=True)
class Story:
    heading: str
    blocks: list[Block]
    length: int

    @property
    def commands(self) -> list[tuple[str, str]]:
        """What a shell runs, each with what the page says it prints; empty where the page says nothing."""
        following = [*self.blocks, Block("", "")]
        return [
            (block.text, after.text if after.language == PRINTED else "")
            for block, after in pairwise(following)
            if not block.language
        ]

    @property
    def pasted(self) -> list[str]:
        """What is said to be parts of examples."""
        return [block.text for block in self.blocks if block.language not in ("", PRINTED)]

    @property
    def script(self) -> str:
        return "".join(text for text, _ in self.commands)

    @property
    def packages(self) -> str:
        """The list of packages, of those beside this file, that has what the section installs; empty for none."""
        wanted = {name for words in re.findall(r"pip install (.+)", self.script) for name in shlex.split(words)}
        wanted = {package(each) for name in wanted for each in extra(name) or [name]}
        lines = {file.stem: file.read_text().splitlines() for file in LISTS.glob("*.txt")}
        lists = {stem: {package(line) for line in pinned} for stem, pinned in lines.items()}
        found = sorted((len(names), stem) for stem, names in lists.items() if wanted <= names)
        assert found or not wanted, f"no list of packages beside {__file__} has {wanted}"
        return found[0][1] if wanted else ""


def package(requirement: str) -> str:
    """Return the name of what is required, as the packaging guide normalises it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def extra(requirement: str) -> list[str]:
    """Return what an extra of this project requires; nothing for another requirement."""
    name = requirement.removeprefix(f"{PROJECT['name']}[").removesuffix("]")
    return list(PROJECT["optional-dependencies"][name]) if name != requirement else []


def with_extras_resolved(script: str) -> str:
    """Name what an extra requires, for there is no package of this project to be had yet."""
    named = rf"""['"]?({PROJECT["name"]}\[[\w-]+\])['"]?"""
    return re.sub(named, lambda found: shlex.join(extra(found[1])), script)


def stories() -> list[Story]:
    """Return the sections of the page that have blocks."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE):
        blocks = [
            Block("" if indented else language or PRINTED, re.sub("^    ", "", indented, flags=re.M) or fenced)
            for language, fenced, indented in BLOCK.findall(section)
        ]
        if blocks:
            found.append(Story(section.partition("\n")[0], blocks, len(section.splitlines())))
    return found
