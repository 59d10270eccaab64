"""Where a module lies that runs as a program, and what of its files may be in an image."""

import ast
import os
import sys
from pathlib import Path

import pytest

from mpiimport.runtime.program import Program
from mpiimport.warm.beginning_of_module import ModuleBegin
from mpiimport.warm.leading import leading_imports, until
from mpiimport.warm.leading_of_module import leading_of_module
from mpiimport.warm.locating import locate
from mpiimport.warm.memory_map import Refused


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, which begins the search path."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return place


def put(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def package(directory: Path, text: str = "") -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "__init__.py").write_text(text)


@pytest.mark.parametrize(
    ("text", "relative", "leading"),
    [
        ("import a, b\nfrom c import d\nx = 1\nimport e", False, "import a, b\nfrom c import d"),
        ("'''doc'''\nimport a\nif a: pass", False, "'''doc'''\nimport a"),
        ("import a\nimport own\nimport b", False, "import a"),
        ("import a; import own.part", False, "import a"),
        ("import a\nfrom own import x", True, "import a"),
        ("import a\nfrom . import x\nimport b", False, "import a"),
        ("import a\nfrom .x import y\nimport b\nb()", True, "import a\nfrom .x import y\nimport b"),
        ("import a\n'''text'''\nimport b", False, "import a"),
        ("x = 1\nimport a", False, None),
        ("'''doc'''", False, None),
    ],
)
def test_leading_imports(text: str, relative: bool, leading: str | None) -> None:
    last, _ = leading_imports(ast.parse(text), {"own"}, relative)
    assert (None if last is None else until(text.encode(), last).decode()) == leading


def test_the_files_that_run(here: Path) -> None:
    package(here / "pack", "import os")
    package(here / "pack" / "sub")
    for name in ("pack/sub/run.py", "pack/__main__.py", "alone.py", "space/run.py"):
        put(here / name)
    first = ("pack", f"{here}/pack/__init__.py", True)
    assert locate("alone") == [("alone", f"{here}/alone.py", True)]
    assert locate("pack") == [first, ("pack.__main__", f"{here}/pack/__main__.py", True)]
    second = ("pack.sub", f"{here}/pack/sub/__init__.py", True)
    assert locate("pack.sub.run") == [first, second, ("pack.sub.run", f"{here}/pack/sub/run.py", True)]
    assert locate("pack.none") == [first]
    assert [source for *_, source in locate("space.run")] == [False]
    assert locate("nowhere") == []
    assert "pack" not in sys.modules


def test_in_the_current_directory_each_file_counts(here: Path, tmp_path: Path) -> None:
    package(here / "pack", "import re\n")
    put(here / "pack" / "run.py", "import json\nimport pack\nimport os\n")
    begin = leading_of_module([sys.executable], "pack.run", tmp_path)
    parts = [(part.name, part.text, part.is_whole) for part in begin.parts]
    assert parts == [("pack", b"import re\n", True), ("pack.run", b"import json", False)]
    assert begin.texts() == [b"import runpy", b"import re\n", b"import json"]
    assert (begin.directory, begin.package, begin.files()) == (str(here), "", [])
    package(here / "pack", "import re\nx = 1")
    begin = leading_of_module([sys.executable], "pack.run", tmp_path)
    assert [(part.name, part.text, part.is_whole) for part in begin.parts] == [("pack", b"import re", False)]


def test_in_the_tree_packages_are_imported(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    package(tree / "pack", "x = 1")
    put(tree / "pack" / "run.py", "from . import part\nimport re\nx = 1\n")
    monkeypatch.setenv("PYTHONPATH", str(tree))
    begin = leading_of_module([sys.executable], "pack.run", tmp_path)
    assert begin.texts() == [b"import runpy, pack", b"from . import part\nimport re"]
    assert (begin.directory, begin.package) == ("", "pack")
    put(here / "re.py")
    begin = leading_of_module([sys.executable], "pack.run", tmp_path)
    assert begin.texts()[1] == b"from . import part"
    for name in ("pack", "missing", "mpi4py.run", "mpiimport"):
        with pytest.raises(Refused):
            leading_of_module([sys.executable], name, tmp_path)


def test_a_module_is_the_same_where_it_begins_alike(here: Path) -> None:
    package(here / "pack", "import re\n")
    put(here / "pack" / "run.py", "import json\nprint()")
    files = [("pack", f"{here}/pack/__init__.py", b"import re\n", True)]
    begin = ModuleBegin("pack.run", str(here), [*files, ("pack.run", f"{here}/pack/run.py", b"import json", False)])

    def doubt(*words: str) -> str:
        sys.path_importer_cache.clear()
        return begin.doubt(Program.parse(list(words)))

    assert doubt("-m", "pack.run", "a") == doubt("-mpack.run") == ""
    assert "another program" in doubt("-m", "pack.other")
    assert "another program" in doubt("pack.run")
    put(here / "pack" / "run.py", "import json\nprint('other')")
    assert doubt("-m", "pack.run") == ""
    put(here / "pack" / "run.py", "import re\nprint()")
    assert "begins with other imports" in doubt("-m", "pack.run")
    put(here / "pack" / "run.py", "import json")
    package(here / "pack", "import re\nx = 1")
    assert "begins with other imports" in doubt("-m", "pack.run")
    package(here / "pack" / "run")
    package(here / "pack", "import re\n")
    assert "found elsewhere" in doubt("-m", "pack.run")
    os.chdir("/")
    assert "current directory" in doubt("-m", "pack.run")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_text_ends_with_the_last_import_in_any_encoding(encoding: str) -> None:
    """Also on the first line, behind the mark of its begin, and behind letters of several bytes."""
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
    begin = f"{cookie}'ä'; import json, os"
    source = f"{begin}; print('ö')\n".encode(encoding)
    last, _ = leading_imports(ast.parse(source), set(), False)
    assert last is not None
    assert until(source, last) == begin.encode(encoding)
