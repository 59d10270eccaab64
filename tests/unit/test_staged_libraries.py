"""Libraries that a module needs: mapped after a look at what is mapped, with their functions bound as plainly."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.workloads.generators import linked_modules
from mpiimport.runtime.importing.libraries import StagedLibraries, mapped_files
from mpiimport.runtime.store.store import library_name


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_what_is_mapped_is_read_once(tmp_path: Path) -> None:
    linked_modules(tmp_path, count=2, libraries=6, functions=6)
    needs = [str(path) for path in sorted((tmp_path / "linked.libs").iterdir())]
    modules = [str(path) for path in (tmp_path / "linked").glob("module_*")]
    copies = {library_name(path): path for path in (*needs, *modules)}
    index: Any = SimpleNamespace(
        needs=dict.fromkeys(modules, needs),
        aliases={},
        mpi={},
        libraries={path: path for path in (*needs, *modules)},
        own=set(),
        searched={},
        unnamed=[],
    )
    store: Any = SimpleNamespace(executable=True, path=copies.__getitem__, is_sealed=lambda name: True)
    staged = StagedLibraries(index, store, lambda: None)
    assert all(staged.stage(module) for module in modules)
    link_map: Any = staged._link_map
    read: list[int] = []
    entry = link_map._entry

    def from_address(at: int) -> Any:
        read.append(at)
        return entry.from_address(at)

    link_map._entry = SimpleNamespace(from_address=from_address)
    assert link_map.names() >= {*needs, *modules}
    assert len(read) == 1
    assert mapped_files() >= {*needs, *modules}


BOUND = """
import os, sys
from types import SimpleNamespace
from mpiimport.runtime.importing.libraries import StagedLibraries, bind_functions
bind_functions(sys.argv[1])
needs = sys.argv[2:]
staged = {path: path for path in ("module", *needs)}
own = {"own": set(), "searched": {}, "unnamed": ()}
index = SimpleNamespace(needs={"module": needs}, aliases={}, mpi={}, libraries=staged, **own)
store = SimpleNamespace(executable=True, path=lambda name: name.removeprefix("lib"), is_sealed=lambda name: True)
StagedLibraries(index, store, lambda: None).stage("module")
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
@pytest.mark.parametrize(("binding", "bound"), [("", True), ("now", True), ("lazy", False)])
def test_functions_of_needed_libraries_are_bound_as_those_of_the_module(
    tmp_path: Path, binding: str, bound: bool
) -> None:
    for name, text, needs in (
        ("first", "int in_first(void) { return 1; }", []),
        ("second", "int in_first(void); int in_second(void) { return in_first(); }", [str(tmp_path / "libfirst.so")]),
    ):
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        # Debian's compiler does not ask for immediate binding; others' may.
        command = ["gcc", "-shared", "-fPIC", "-Wl,-z,lazy", "-o", str(tmp_path / f"lib{name}.so"), str(source), *needs]
        subprocess.run(command, check=True)
    needs = [str(tmp_path / "libfirst.so"), str(tmp_path / "libsecond.so")]
    seen = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(tmp_path / "bindings")}
    subprocess.run([sys.executable, "-c", BOUND, binding, *needs], env={**os.environ, **seen}, check=True)
    said = "".join(file.read_text(errors="replace") for file in tmp_path.glob("bindings.*"))
    assert ("symbol `in_first'" in said) == bound
