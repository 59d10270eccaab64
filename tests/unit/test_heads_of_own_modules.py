"""A base goes on with imports at the heads of own modules, in the program's order, and holds until a head changes."""

import sys
from pathlib import Path

import pytest

from mpiimport.runtime.program import Program
from mpiimport.snapshot.memory_map import Refused
from mpiimport.snapshot.restore.begin import Begin
from mpiimport.snapshot.text.program_text import Piece, ProgramText
from tests.texts import read

INSTALLED = ("a", "b", "c", "d")
# The script, own modules, and what is imported ahead. Without a base there is nothing ahead.
PROGRAMS = read(Path(__file__).with_name("programs") / "heads_of_own_modules.txt")


class Tree:
    """``path``: the directory of the script and of own modules."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.script = path / "app.py"

    def put(self, script: str, modules: dict[str, str]) -> None:
        for name, text in {"app": script, **modules}.items():
            file = self.path / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def base(self) -> Piece | None:
        return ProgramText.read([sys.executable], [str(self.script)], self.path.parent).base()

    def doubt(self, begin: Begin) -> str:
        sys.path_importer_cache.clear()
        return begin.doubt(Program.parse([str(self.script)]))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    site = tmp_path / "site"
    (site / "some-1.dist-info").mkdir(parents=True)
    for name in INSTALLED:
        (site / f"{name}.py").touch()
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.syspath_prepend(str(own))
    return Tree(own)


def ahead_of(piece: Piece | None) -> str:
    found = piece.begin[3] if piece is not None else []
    return " ".join(f"{name}:{','.join(names)}" if names else name for name, names in found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_imported_ahead(tree: Tree, name: str) -> None:
    modules = {**PROGRAMS[name].further}
    ahead = modules.pop("ahead").strip()
    tree.put(str(PROGRAMS[name]), {file.removesuffix(".py"): text for file, text in modules.items()})
    assert ahead_of(tree.base()) == ahead


MODULES = {
    "own": "import b\nfrom pack import part\ndef f(): pass\n",
    "pack/__init__": "import c\n",
    "pack/part": "import d\n",
}
EDITS = {
    "nothing": ({}, [], ""),
    "behind the heads": ({"own": "import b\nfrom pack import part\ndef f(): return 2\nimport a\n"}, [], ""),
    "the script behind its head": ({"app": "import a\nimport own\nprint(2)\n"}, [], ""),
    "a head": ({"own": "import a\nimport b\nfrom pack import part\ndef f(): pass\n"}, [], "own.py begins with other"),
    "a file that was all head": ({"pack/part": "import d\nx = f()\n"}, [], "part.py begins with other"),
    "a longer import": ({"own": "import b\nfrom pack import part, more\n"}, [], "own.py has a longer statement"),
    "a syntax error": ({"own": "import b\nfrom pack import part\ndef f(:\n"}, [], "a file cannot be compiled"),
    "a module that is a package now": ({"pack/part/__init__": "import d\n"}, [], "pack.part is found elsewhere"),
    "a module that is gone": ({}, ["pack/part"], "part.py cannot be read"),
    "the script": ({"app": "import own\nprint(1)\n"}, [], "app.py begins with other"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_base_holds_until_a_head_changes(tree: Tree, name: str) -> None:
    tree.put("import a\nimport own\nprint(1)\n", MODULES)
    piece = tree.base()
    assert piece is not None and ahead_of(piece) == "b c d"
    begin = Begin(*piece.begin)
    edited, removed, why = EDITS[name]
    tree.put(edited.get("app", tree.script.read_text()), {each: edited[each] for each in edited if each != "app"})
    for each in removed:
        (tree.path / f"{each}.py").unlink()
    doubt = tree.doubt(begin)
    assert why in doubt and bool(why) == bool(doubt)


def test_a_base_with_own_modules_is_for_scripts_beside_them(tree: Tree) -> None:
    tree.put("import a\nimport own\nprint(1)\n", MODULES)
    piece = tree.base()
    assert piece is not None and piece.is_shared
    begin = Begin(*piece.begin)
    for words in (["-m", "app"], ["-c", "import a"]):
        assert "another program" in begin.doubt(Program.parse(words))


OF_MODULES = {"pack/__init__": "import a\n", "pack/run": "import b\nimport c\nprint(1)\n", "pack/__main__": "import d"}


@pytest.mark.parametrize(
    ("name", "file", "ahead"),
    [("pack.run", "pack/run.py", "a b c"), ("pack", "pack/__main__.py", "a d"), ("app", "app.py", "b")],
)
def test_a_base_of_a_module_executes_no_own_code(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, file: str, ahead: str
) -> None:
    tree.put("import b\nprint(1)", OF_MODULES)
    monkeypatch.chdir(tree.path)
    text = ProgramText.read([sys.executable], ["-m", name], tree.path.parent)
    base, full = text.base(), text.full()
    assert text.file == tree.path / file and text.is_module
    assert base is not None and (ahead_of(base), base.begin[6]) == (ahead, False)
    assert (full.begin[3], full.begin[6]) == ([], True)
    begin = Begin(*base.begin)
    begin.entry = str(tree.path)
    program = Program.parse(["-m", name])
    sys.path_importer_cache.clear()
    assert begin.doubt(program) == ""
    (tree.path / file).write_text("import a\nprint(1)\n")
    assert "begins with other statements" in begin.doubt(program)
    monkeypatch.chdir("/")
    assert "it was made in another directory" in begin.doubt(Program.parse(["-m", name]))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("space.run", "space is no source file"),
        ("missing", "there is no module missing to run"),
        ("pack.missing", "there is no module pack.missing to run"),
        ("space", "space is no source file"),
        ("a.run", "there is no module a.run to run"),
        ("math", "math is no source file"),
    ],
)
def test_what_is_no_module_of_python(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str, why: str) -> None:
    tree.put("", {**OF_MODULES, "space/run": ""})
    monkeypatch.chdir(tree.path)
    with pytest.raises(Refused, match=why):
        ProgramText.read([sys.executable], ["-m", name], tree.path.parent)
