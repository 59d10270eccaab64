"""The pages say what they promise to say, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/*.md")} - {*ROOT.glob("build/**/*.md")})
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
DEVIATIONS = (
    (ROOT / "docs" / "behaviour.md").read_text().partition("\n### ")[2].partition("\n## What ranks still ask")[0]
)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(FENCED.sub("", page.read_text())):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page.parent / path if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("deviation", re.split(r"^### ", DEVIATIONS, flags=re.MULTILINE), ids=lambda text: text[:40])
def test_each_deviation_says_why_what_to_do_and_which_test_holds_it(deviation: str) -> None:
    text = deviation.partition("\n## ")[0]
    points = re.findall(r"^- (Why|What to do|Test): (.+)$", text, re.MULTILINE)
    assert [name for name, _ in points] == ["Why", "What to do", "Test"]
    for test in re.findall(r"`([^`]+)`", points[-1][1]):
        assert (ROOT / test).exists() or (ROOT / "tests" / "mpi" / test).exists(), test
