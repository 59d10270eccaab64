"""Every `mpiimport ...` line in the documentation is a command line that is understood."""

import shlex

import pytest

from mpiimport.host.cli import understand
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Placeholders of a synopsis, and what a shell does with a line.
UNREADABLE = ("[", "|", "...")
LINES = sorted(
    {
        line.strip()
        for page in PAGES
        for line in page.read_text().splitlines()
        if line.startswith(("    mpiimport ", "        mpiimport ")) and not any(sign in line for sign in UNREADABLE)
    }
)


def test_commands_are_documented() -> None:
    assert {shlex.split(line)[1] for line in LINES} >= {"bake", "doctor", "profile", "manifest"}


@pytest.mark.parametrize("line", LINES)
def test_a_documented_command_is_understood(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    if ">" in words:
        words = words[: words.index(">")]
    understand(words)
