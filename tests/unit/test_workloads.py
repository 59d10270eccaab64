"""Generated workloads import, compute what they should, and are the same at every generation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import workloads
from benchmarks.workloads.generators import linked_modules, pure_modules


def printed(program: str, directory: Path, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(directory), **variables}
    command = [sys.executable, "-B", "-c", program]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def contents(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_pure_modules_import_each_other(tmp_path: Path) -> None:
    pure_modules(tmp_path, count=5, functions=2)
    program = """
import pure.everything, sys
modules = [module for name, module in sorted(sys.modules.items()) if ".module_" in name]
for module in modules:
    others = [value for name, value in vars(module).items() if name.startswith("other_")]
    assert module.VALUE == module.NUMBER + sum(other.NUMBER for other in others), module
print([module.NUMBER for module in modules], modules[4].function_1(3), modules[3].Thing3().doubled())
"""
    assert printed(program, tmp_path) == "[0, 1, 2, 3, 4] [1, 4] 6\n"


def test_generated_twice_the_modules_are_the_same(tmp_path: Path) -> None:
    for name in ("first", "second"):
        pure_modules(tmp_path / name, count=60)
    first = contents(tmp_path / "first")
    assert len(first) == 60 + 3 + 2
    assert first == contents(tmp_path / "second")


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_generated_twice_the_libraries_are_the_same(tmp_path: Path) -> None:
    for name in ("first", "second"):
        linked_modules(tmp_path / name, count=2, libraries=4, functions=3)
    first = contents(tmp_path / "first")
    assert len(first) == 2 + 4 + 2
    assert first == contents(tmp_path / "second")


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_linked_modules_call_through_their_libraries(tmp_path: Path) -> None:
    linked_modules(tmp_path, count=5, libraries=1, functions=4)
    program = "import linked.everything, sys; print([sys.modules[f'linked.module_000{n}'].total() for n in range(5)])"
    # One library calls no other: each module adds up the squares of 0 to 3.
    assert printed(program, tmp_path) == f"{[0 + 1 + 4 + 9] * 5}\n"


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_linked_modules_leave_symbols_to_be_looked_up_at_import_or_at_the_first_call(tmp_path: Path) -> None:
    linked_modules(tmp_path, count=2, libraries=5, functions=10)
    program = "import sys; sys.setdlopenflags({}); import linked.module_0000"
    bound = []
    for flags in (os.RTLD_NOW, os.RTLD_LAZY):
        trace = tmp_path / "bindings"
        printed(program.format(flags), tmp_path, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(trace))
        text = "".join(path.read_text() for path in tmp_path.glob("bindings.*"))
        for path in tmp_path.glob("bindings.*"):
            path.unlink()
        bound.append(sum("normal symbol `utility_" in line for line in text.splitlines()))
    assert bound[0] >= 10 and bound[1] == 0


def test_what_a_workload_needs_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def generate(directory: Path) -> None:
        made.append(directory)
        (directory / "one.py").write_text("VALUE = 1")

    monkeypatch.setitem(workloads.WORKLOADS, "one", workloads.Workload("one", "import one", generate=generate))
    assert workloads.prepare("one", tmp_path) == workloads.prepare("one", tmp_path) == tmp_path / "one"
    assert len(made) == 1
    assert [path.name for path in (tmp_path / "one" / "__pycache__").iterdir()]
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert workloads.prepare("scipy", tmp_path) is None
