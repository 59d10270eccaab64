"""How far the begin of a program goes by its text alone: what waits, what ends it, and where its base ends."""

import ast
from pathlib import Path

import pytest

from mpiimport.snapshot.memory_map import Refused
from mpiimport.snapshot.restore.head import Head
from mpiimport.snapshot.text.statements import SourceFile
from mpiimport.snapshot.text.static_cut import COMPUTATIONS, base_count, does, may_lie_elsewhere, static_cut

# Scripts. A line "# cut: REASON" is where the begin ends; without one it holds all. A line that ends with "# waits" is
# executed by each process.
CUTS = {
    "nothing": "",
    "imports and settings": "'''doc'''\nimport a, os\n"
    "os.environ['A'] = '1'\ntry: import b\nexcept ImportError: b = None",
    "definitions": "def f(): print(1)\nclass A: x = f()\nx = f()\nfor y in x: pass",
    "main part": "import a\n# cut: main part\nif __name__ == '__main__': a.main()",
    "main part, the other way round": "import a\n# cut: main part\nif '__main__' == __name__: a.main()",
    "output": "import a\n# cut: prints\nprint(a)",
    "call": "def f(): pass\n# cut: calls a function of the program\nf()",
    "here": "x = 1\nsnapshot.here()\n# cut: here() says so\ny = 1",
    "here by its name": "here()\n# cut: here() says so\ny = 1",
    "no mark": "x.here(1)\ny = here\nz = here()",
    "mpi4py": "from mpi4py import MPI  # waits\nimport mpi4py, mpi4py.util.pkl5 as p  # waits\nimport a\nx = 1",
    "mpi4py and its settings": "import mpi4py  # waits\nmpi4py.rc.threads = False  # waits\n"
    "mpi4py.rc(initialize=False)  # waits\nfrom mpi4py import MPI, rc  # waits\nrc.x = 1  # waits\nimport a",
    "a setting that is computed": "import mpi4py  # waits\n# cut: uses mpi4py\nmpi4py.rc.threads = f()",
    "another attribute": "import mpi4py  # waits\n# cut: uses mpi4py\nmpi4py.x = 1",
    "mpi4py and others": "# cut: and does more\nimport mpi4py, a",
    "all names of mpi4py": "import a\n# cut: and does more\nfrom mpi4py.MPI import *\nSUM = 1",
    "mpi4py under a condition": "# cut: and does more\nif a: from mpi4py import MPI",
    "mpi4py in a class": "# cut: and does more\nclass A: from mpi4py import MPI",
    "mpi4py in a function": "def f(): from mpi4py import MPI\nx = 1",
    "mpi4py, if it is there": "try:  # waits\n    from mpi4py import MPI\nexcept ImportError:\n    MPI = None\n"
    "import a\n# cut: uses MPI\nx = MPI",
    "mpi4py and whether it is there": "try:  # waits\n    from mpi4py import MPI\n    HAS = True\n"
    "except ImportError:\n    HAS = False\nimport a\n# cut: uses HAS\nx = HAS",
    "mpi4py and its size": "# cut: and does more\n"
    "try: from mpi4py import MPI; size = MPI.COMM_WORLD.size\nexcept ImportError: size = 1",
    "output without mpi4py": "# cut: and does more\ntry: from mpi4py import MPI\nexcept ImportError: print(1)",
    "what uses it": "from mpi4py import MPI  # waits\nx = 1\n# cut: uses MPI\ny = x, MPI",
    "what binds it": "from mpi4py import MPI  # waits\n# cut: uses MPI\nMPI = 1",
    "what deletes it": "from mpi4py import MPI  # waits\n# cut: uses MPI\ndel MPI",
    "a pattern that binds it": "from mpi4py import MPI  # waits\n# cut: uses MPI\nmatch 1:\n    case [*MPI]: pass",
    "a rest that binds it": "from mpi4py import MPI  # waits\n# cut: uses MPI\nmatch 1:\n    case {**MPI}: pass",
    "a case that binds it": "from mpi4py import MPI  # waits\n# cut: uses MPI\nmatch 1:\n    case MPI: pass",
    "an exception that binds it": "from mpi4py import MPI  # waits\n# cut: uses MPI\ntry: x\nexcept A as MPI: pass",
    "its default": "from mpi4py import MPI  # waits\n# cut: uses MPI\ndef f(x=MPI): pass",
    "its annotation": "from mpi4py import MPI  # waits\n# cut: uses MPI\ndef f(x: MPI): pass",
    "its base": "from mpi4py import MPI as M  # waits\n# cut: uses M\nclass A(M.Comm): pass",
    "an element": "from mpi4py import MPI  # waits\n# cut: uses MPI\nx = [MPI for _ in y]",
    "functions that use it": "from mpi4py import MPI  # waits\n"
    "def f(): return MPI\nclass A:\n    def g(self): return f()\nx = 1",
    # Whether these look at it, the audit tells.
    "a call of one": "from mpi4py import MPI  # waits\ndef f(): return MPI\nx = f()",
    "all variables": "import mpi4py  # waits\nx = sorted(globals())",
}
# As CUTS: "# base" is where the base ends; without one it is the whole begin. Modules ``own`` are own code.
BASES = {
    "imports and settings": "'''doc'''\nimport a\na.use('x')\nx: int = 1\nx += 1\ndel x\npass\n# base",
    "imports that may fail": "try: import a\nexcept ImportError: import b as a\nx = 1\n# base",
    "other failures": "# base\ntry: import a\nexcept Exception: pass",
    "a failure of something else": "# base\ntry: x = a()\nexcept ImportError: pass",
    "types": "if typing.TYPE_CHECKING: import own\nif TYPE_CHECKING: from . import x\nx = 1\n# base",
    "types and else": "# base\nif TYPE_CHECKING: import a\nelse: import b",
    "definition": "import a\n# base\ndef f(): pass\nimport b",
    "class": "import a\n# base\nclass A: pass",
    "condition": "import a\n# base\nif a: import b",
    "loop": "# base\nfor x in y: pass",
    "own import": "import a\n# base\nimport b, own.part\nimport c",
    "own import that may fail": "# base\ntry: from own import x\nexcept ImportError: pass",
    "an import of what is not there yet": "import sys\nsys.path.insert(0, 'src')\n# base\nimport unknown",
    "an import of what may be missing": "try: import unknown\nexcept ImportError: import a as unknown\n# base",
    "relative import": "import a\n# base\nfrom .part import x",
    "what waits": "try:\n    from mpi4py import MPI\nexcept ImportError:\n    MPI = None\nimport a\n# base",
}


@pytest.fixture
def read(tmp_path: Path) -> "type[Script]":
    Script.path = tmp_path / "app.py"
    return Script


class Script:
    """A text of CUTS or BASES in a file. ``mark``: the line at which it is to end."""

    path: Path

    def __init__(self, text: str, mark: str) -> None:
        self.path.write_text(text)
        self.file = SourceFile.read("__main__", str(self.path))
        before, _, rest = text.partition(f"# {mark}")
        self.count = len(ast.parse(before).body)
        self.reason = rest.partition("\n")[0].removeprefix(": ")
        lines = text.splitlines()
        self.waiting = [n for n, each in enumerate(self.file.body) if lines[each.lineno - 1].endswith("# waits")]


@pytest.mark.parametrize("name", CUTS)
def test_where_it_ends_and_what_waits(read: type[Script], name: str) -> None:
    script = read(CUTS[name], "cut")
    cut = static_cut(script.file)
    assert (cut.count, cut.deferred) == (script.count, script.waiting), cut
    assert script.reason in cut.reason and bool(cut.reason) == (script.count < len(script.file.body))
    assert cut.is_asked == (script.reason == "here() says so")


@pytest.mark.parametrize("name", BASES)
def test_where_its_base_ends(read: type[Script], name: str) -> None:
    script = read(BASES[name], "base")

    def is_own(module: str) -> bool:
        return module.partition(".")[0] in ("own", "")

    def may_be_own(module: str) -> bool:
        return is_own(module) or module == "unknown"

    assert base_count(script.file, static_cut(script.file), is_own, may_be_own) == script.count


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("import a\nx = 1\nclass A: y = 1", True),
        ("x = __file__", False),
        ("import __main__", False),
        ("x = __name__", False),
        ("x = lambda: 1", False),
        ("x = [y for y in z]", False),
        ("def f(): pass", False),
        ("class A:\n    async def f(self): pass", False),
    ],
)
def test_scripts_that_begin_alike_may_lie_elsewhere(read: type[Script], text: str, may: bool) -> None:
    """But for code: it keeps the path of the script, which tracebacks show."""
    file = read(text, "").file
    assert may_lie_elsewhere(file, len(file.body)) == may
    assert may_lie_elsewhere(file, 0)


KINDS = (ast.Import, *COMPUTATIONS)


@pytest.mark.parametrize(
    ("text", "brings"),
    [
        ("'''text'''\nx = 1\ndef f():\n    import a\n    a.b()\nclass A: pass", False),
        ("import a", True),
        ("x = f()", True),
        ("class A: x = f()", True),
        ("@a()\ndef f(): pass", True),
        ("for x in y: pass", True),
    ],
)
def test_what_of_a_begin_takes_time(read: type[Script], text: str, brings: bool) -> None:
    file = read(f"import json\n{text}", "").file
    assert does(file, 1, len(file.body), KINDS) == brings
    assert not does(file, len(file.body), len(file.body), KINDS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_text_ends_with_the_last_statement_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    """Also on the first line, behind the mark of its begin, and behind letters of several bytes."""
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
    begin = f"{cookie}'ä'; import json, os"
    path = tmp_path / "app.py"
    path.write_bytes(f"{begin}; print('ö')\n".encode(encoding))
    file = SourceFile.read("__main__", str(path))
    assert file.head(2).text == begin.encode(encoding)
    assert file.head(0).text == b""
    assert file.head(3, is_whole=True).text == path.read_bytes()


@pytest.mark.parametrize(("text", "why"), [("def (", "invalid syntax"), ("x = '\0'", "null bytes")])
def test_what_cannot_be_parsed_is_no_program(read: type[Script], text: str, why: str) -> None:
    with pytest.raises(Refused, match=f"app.py cannot be read: .*{why}"):
        read(text, "")


# Head, and what comes behind it in the file, later; and why that is no such program.
DOUBTS = [
    ("import a\nx = 1", "", ""),
    ("import a\nx = 1", "\nprint(2)", ""),
    ("import a\nx = 1", "  # why\n", ""),
    ("import a\nx = 1", "; y = 2", ""),
    ("", "anything()", ""),
    ("'''doc'''", "\nx = 1", ""),
    ("x = 1", "0", "longer statement"),
    ("x = 1", " + 2", "longer statement"),
    ("x = 'a'", " 'b'", "longer statement"),
    ("import a", ", b", "longer statement"),
    ("import a", " as b", "longer statement"),
    ("import a", ".b", "longer statement"),
    ("if a:\n    b", "\n    c", "longer statement"),
    ("try: import a\nexcept A: b", "\nelse: c", "longer statement"),
    ("try: import a\nexcept A: b", "\nexcept B: c", "longer statement"),
    ("x = 1", " \\\n  + 2", "longer statement"),
    ("'''doc'''", "\nfrom __future__ import annotations", "future statement"),
]


@pytest.mark.parametrize(("head", "behind", "why"), DOUBTS)
def test_a_file_is_the_same_program_whatever_follows(read: type[Script], head: str, behind: str, why: str) -> None:
    file = read(head, "").file
    doubt = file.head(len(file.body)).doubt(f"{head}{behind}".encode())
    assert why in doubt and bool(why) == bool(doubt)


def test_a_file_that_begins_otherwise_is_another_program(read: type[Script]) -> None:
    head: Head = read("import a\nx = 1", "").file.head(2)
    for text in (b"# a comment\nimport a\nx = 1", b"import a\nx = 2", b"import a", b"import a\r\nx = 1"):
        assert "begins with other statements" in head.doubt(text)
    whole = read("import a\n", "").file.head(1, is_whole=True)
    assert whole.doubt(b"import a\n") == ""
    assert "begins with other statements" in whole.doubt(b"import a\nx = 1")
