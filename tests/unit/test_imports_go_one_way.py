"""The folders of the runtime, and those of the host commands, depend on each other in one direction."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "mpiimport"
# Each folder may import what stands before it, and nothing that stands after it. A package's own files are its ground.
FLOORS = {
    "runtime": ("ground", "mpi", "store", "importing", "payload", "report", "startup"),
    "snapshot": ("ground", "restore", "text", "audit", "image"),
    "host": ("ground", "probe", "machine", "abi", "report", "commands"),
}
# Where a command line begins leads to everything.
ENTRANCES = {PACKAGE / "host" / name for name in ("__main__.py", "cli.py")}
# Below all floors: it must parse on any Python, so it imports nothing.
BASEMENT = PACKAGE / "rank_variables.py"
FILES = sorted({file for package in FLOORS for file in (PACKAGE / package).rglob("*.py")} - ENTRANCES)
NAMES = [str(file.relative_to(PACKAGE)) for file in FILES]


def imported(file: Path) -> Iterator[str]:
    """Yield the modules, or names in modules, that a file imports anywhere: in functions and for its types as well."""
    package = list(file.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def floor(module: str) -> int:
    """The floor of a module ``mpiimport.package.folder.name``."""
    _, package, folder, *_ = [*module.split("."), "", ""]
    floors = FLOORS[package]
    return floors.index(folder) if folder in floors else 0


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_nothing_imports_what_stands_above_it(file: Path) -> None:
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    own = [name for name in imported(file) if name.split(".")[:2] == module.split(".")[:2]]
    assert [name for name in own if floor(name) > floor(module)] == []


def test_no_modules_import_each_other() -> None:
    files = {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in PACKAGE.rglob("*.py")}
    modules = {module.removesuffix(".__init__"): file for module, file in files.items()}
    graph = {
        module: {each if each in modules else each.rpartition(".")[0] for each in imported(file)} - {module}
        for module, file in modules.items()
    }
    # Raises CycleError.
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("file", sorted((PACKAGE / "runtime").rglob("*.py")), ids=lambda file: file.stem)
def test_the_runtime_stands_on_itself(file: Path) -> None:
    allowed = ("mpiimport.runtime", f"mpiimport.{BASEMENT.stem}.")
    assert [name for name in imported(file) if name.startswith("mpiimport.") and not name.startswith(allowed)] == []


@pytest.mark.parametrize("file", sorted((PACKAGE / "snapshot").rglob("*.py")), ids=lambda file: file.stem)
def test_snapshots_stand_on_the_runtime(file: Path) -> None:
    assert [name for name in imported(file) if name.startswith(("mpiimport.host", "mpiimport.workflows"))] == []


def test_what_lies_below_the_runtime_imports_nothing_of_ours() -> None:
    assert [name for name in imported(BASEMENT) if name.startswith("mpiimport")] == []


@pytest.mark.parametrize("package", FLOORS)
def test_every_folder_has_its_floor(package: str) -> None:
    folders = {file.parent.name for file in (PACKAGE / package).glob("*/__init__.py")}
    assert folders == set(FLOORS[package]) - {"ground"}


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_file_fits_what_a_reader_can_keep_in_mind(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 300


HOOKS = ROOT / "hooks"
# The launch side: each may import what its own set and the sets before it have.
GO_FLOORS = (
    "internal/leaves",
    "internal/process",
    "profile",
    "launch",
    "containerstart",
    "internal/entrypoints",
    "plugin",
    "cmd",
)
OF_TESTS = "internal/chance"
GO_FILES = [file for file in sorted(HOOKS.rglob("*.go")) if not file.name.endswith("_test.go")]


def go_floor(path: str) -> int:
    return next(number for number, name in enumerate(GO_FLOORS) if f"{path}/".startswith(f"{name}/"))


@pytest.mark.parametrize("file", GO_FILES, ids=[str(file.relative_to(HOOKS)) for file in GO_FILES])
def test_nothing_of_the_launch_side_imports_what_stands_above_it(file: Path) -> None:
    here = str(file.relative_to(HOOKS).parent)
    imports = re.findall(r'^(?:import )?\s*"mpiimport\.org/hooks/(.*)"$', file.read_text(), re.MULTILINE)
    if not here.startswith(OF_TESTS):
        assert [name for name in imports if name.startswith(OF_TESTS) or go_floor(name) > go_floor(here)] == []


@pytest.mark.parametrize("folder", ["restorer", "spank"])
def test_no_files_in_c_include_each_other(folder: str) -> None:
    files = [*(ROOT / folder).glob("*.c"), *(ROOT / folder).glob("*.h")]
    # A source and its header are one.
    graph: dict[str, set[str]] = {file.stem: set() for file in files}
    for file in files:
        graph[file.stem] |= set(re.findall(r'^#include "(.*)\.h"', file.read_text(), re.MULTILINE)) - {file.stem}
    # Raises CycleError.
    TopologicalSorter(graph).prepare()
