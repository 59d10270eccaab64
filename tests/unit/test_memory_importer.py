"""The benchmarks' importer needs no file of what it holds, and finds nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent.parent


def printed(program: str, directory: Path) -> str:
    begin = f"import sys; sys.path[:0] = [{str(SOURCES)!r}, {str(directory)!r}]\n"
    return subprocess.run([sys.executable, "-c", begin + program], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_what_was_imported_is_imported_again_without_its_files(tmp_path: Path) -> None:
    package, held = tmp_path / "tree" / "one", tmp_path / "held"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from one.two import VALUE\n")
    (package / "two.py").write_text("VALUE = 7\n")
    hold = f"import one; from benchmarks.measuring.memory_importer import hold; hold({str(held)!r})"
    printed(hold, package.parent)
    shutil.rmtree(package)
    program = f"""
from benchmarks.measuring.memory_importer import install
install({str(held)!r})
import one, one.two
print(one.VALUE, one.__file__, one.__path__, one.two.__spec__.parent, one.two.__loader__.__class__.__name__)
try:
    import two
except ModuleNotFoundError as exc:
    print(exc.name)
"""
    first, second = printed(program, package.parent).splitlines()
    assert first == f"7 {package / '__init__.py'} {[str(package)]} one MemoryImporter"
    assert second == "two"


def test_extension_modules_are_loaded_where_they_lie(tmp_path: Path) -> None:
    held = tmp_path / "held"
    # Built as a file with some Pythons, into the interpreter with others.
    name = "_ctypes"
    file = printed(f"import {name}; print(getattr({name}, '__file__', ''))", tmp_path)
    printed(f"import {name}; from benchmarks.measuring.memory_importer import hold; hold({str(held)!r})", tmp_path)
    program = f"""
from benchmarks.measuring.memory_importer import install
install({str(held)!r})
import {name}; print(getattr({name}, '__file__', ''))
"""
    assert printed(program, tmp_path) == file
