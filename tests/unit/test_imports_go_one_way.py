"""The folders of the product depend on each other in one direction, as docs/architecture.md draws it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "mpiimport"
# Each may import what stands before it, and nothing that stands after it. The ground floor is the runtime's own files.
FLOORS = ("ground", "mpi", "store", "serving", "root", "report", "startup")
# Below all floors: it must parse on any Python, so it imports nothing.
BASEMENT = PACKAGE / "rank_variables.py"
FILES = sorted((PACKAGE / "runtime").rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    """Yield the modules, or names in modules, that a file imports anywhere, for its types as well."""
    package = list(file.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def floor(module: str) -> int:
    folder = module.removeprefix("mpiimport.runtime.").partition(".")[0]
    return FLOORS.index(folder) if folder in FLOORS else 0


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(PACKAGE)) for file in FILES])
def test_nothing_in_the_runtime_imports_what_stands_above_it(file: Path) -> None:
    basement = f"mpiimport.{BASEMENT.stem}."
    own = [name for name in imported(file) if name.startswith("mpiimport.") and not name.startswith(basement)]
    assert [name for name in own if not name.startswith("mpiimport.runtime")] == []
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    assert [name for name in own if floor(name) > floor(module)] == []


def test_what_lies_below_the_runtime_imports_nothing_of_ours() -> None:
    assert [name for name in imported(BASEMENT) if name.startswith("mpiimport")] == []


def test_every_folder_of_the_runtime_has_its_floor() -> None:
    folders = {file.parent.name for file in FILES if file.parent != PACKAGE / "runtime"}
    assert folders == set(FLOORS) - {"ground"}


@pytest.mark.parametrize("file", [file for file in FILES if file.name != "__init__.py"], ids=lambda file: file.stem)
def test_a_file_of_the_runtime_fits_what_a_reader_can_keep_in_mind(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 300
