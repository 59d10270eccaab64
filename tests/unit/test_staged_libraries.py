"""Mapping the libraries that a module needs looks once at what is mapped, however many they are."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.generators import linked_modules
from mpiimport.runtime import libraries
from mpiimport.runtime.libraries import StagedLibraries, mapped_files
from mpiimport.runtime.store import library_name


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_what_is_mapped_is_read_once_for_all_that_a_module_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked_modules(tmp_path, count=2, libraries=6, functions=6)
    needs = [str(path) for path in sorted((tmp_path / "linked.libs").iterdir())]
    modules = [str(path) for path in (tmp_path / "linked").glob("module_*")]
    copies = {library_name(path): path for path in (*needs, *modules)}
    index: Any = SimpleNamespace(needs=dict.fromkeys(modules, needs), aliases={}, libraries={*needs, *modules})
    store: Any = SimpleNamespace(executable=True, path=copies.__getitem__, is_sealed=lambda name: True)
    looks: list[bytes] = []
    memory_maps = libraries._memory_maps

    def counted() -> bytes:
        looks.append(memory_maps())
        return looks[-1]

    monkeypatch.setattr(libraries, "_memory_maps", counted)
    staged = StagedLibraries(index, store, lambda: None)
    assert [staged.stage(module) for module in modules] == modules
    assert len(looks) == 1
    assert mapped_files() >= set(needs)
