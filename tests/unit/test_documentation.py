"""The pages say what they promise to say, and their links lead somewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("docs/*/*.md")} - {*ROOT.glob("build/**/*.md")})
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


# What is said in the interpreter's words, not in ours.
OF_PYTHON = (
    "Fatal MPI error",
    "Fatal Python error",
    "can't open file",
    "running as plain Python",
    "an interactive interpreter",
)
SAYING = {"Bypassed", "NoMpi", "NoRoom", "NoProgram", "OptionError", "RuntimeError", "say", "_say"}


# Functions that return why a job runs plainly.
REASONS = {"why_not", "nothing_gained"}


def returned(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the texts that a function returns."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            yield literal(node.value)


def said(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of our messages in a syntax tree; what is filled in as `...`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYING:
            yield from map(literal, node.args)


def literal(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(value) for value in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "..."


def test_every_line_of_the_rank_path_is_explained() -> None:
    page = (ROOT / "docs" / "messages.md").read_text()
    missing = []
    for file in (ROOT / "mpiimport" / "runtime").rglob("*.py"):
        tree = ast.parse(file.read_text())
        reasons = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in REASONS]
        for text in [*said(tree), *(text for each in reasons for text in returned(each))]:
            parts = [part.strip(" :;(,)") for part in re.split(r"\.\.\.|: |; ", text.removeprefix("mpiimport: "))]
            longest = max(parts, key=len)
            known = any(part in page for part in parts if len(part) > len(longest) // 2)
            if len(longest) > 8 and not known and not any(own in text for own in OF_PYTHON):
                missing.append((file.name, text))
    assert missing == []


PLACES = re.findall(
    r"((?:`\w+`(?:, )?)+) \(`((?:mpiimport|hooks|restorer)/[\w./-]+\.(py|go|c))`\)",
    (ROOT / "docs" / "architecture.md").read_text(),
)
BEGINNING = {"py": "def ", "go": r"func (?:\([^)]*\) )?", "c": r"\w+ "}


@pytest.mark.parametrize(("names", "file", "language"), PLACES)
def test_functions_that_the_architecture_names_are_there(names: str, file: str, language: str) -> None:
    text = (ROOT / file).read_text()
    for name in re.findall(r"\w+", names):
        assert re.search(rf"^ *{BEGINNING[language]}{name}\(", text, re.MULTILINE), name


def test_files_that_the_architecture_names_are_there() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text().partition("## Where to look")[2].partition("\n## ")[0]
    named = re.findall(r"`((?:tests|mpiimport|restorer|hooks)/[\w./-]+)`", table)
    assert len(PLACES) > 10 and [path for path in named if not (ROOT / path).exists()] == []


# Pages for contributors. What they name besides is of users, of Python and of mpi4py.
FOR_CONTRIBUTORS = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md", *ROOT.glob("docs/design/*.md")]
NAMED_FILE = re.compile(r"`((?:[\w-][\w.-]*/)*[\w-]+\.(?:py|go|c|h|sh|json|yaml|md|txt))`")
OF_OTHERS = {"app.py", "_mpiabi.py", "pybuilddir.txt"}


def names_without_a_file(text: str, files: list[Path]) -> list[str]:
    """Return the files that a page names and the repository lacks. A page may omit the folders in front."""
    endings = {"/".join(file.parts[start:]) for file in files for start in range(len(file.parts))}
    return sorted({name for name in NAMED_FILE.findall(text) if name not in endings | OF_OTHERS})


def test_files_that_pages_for_contributors_name_are_there() -> None:
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name not in ("build", ".git")]
    files = [file.relative_to(ROOT) for folder in folders for file in folder.rglob("*.*")]
    assert names_without_a_file("`no/store.py`, `store/store.py`, `no_such.py`", files) == ["no/store.py", "no_such.py"]
    missing = [
        f"{page.name}: {name}" for page in FOR_CONTRIBUTORS for name in names_without_a_file(page.read_text(), files)
    ]
    assert missing == []
