"""How far the begin of a program goes by its text alone: what waits, what ends it, and where its base ends."""

import ast
from pathlib import Path

import pytest

from mpiimport.snapshot.memory_map import Refused
from mpiimport.snapshot.restore.head import Head
from mpiimport.snapshot.text.statements import SourceFile
from mpiimport.snapshot.text.static_cut import COMPUTATIONS, base_count, does, may_lie_elsewhere, static_cut
from tests.texts import read

PROGRAMS = Path(__file__).with_name("programs")
# Scripts. A line "# cut: REASON" is where the begin ends; without one it holds all. A line that ends with "# waits" is
# executed by each process.
CUTS = read(PROGRAMS / "begins_cut.txt")
# As CUTS: "# base" is where the base ends; without one it is the whole begin. Modules ``own`` are own code.
BASES = read(PROGRAMS / "begins_bases.txt")


@pytest.fixture
def script_of(tmp_path: Path) -> "type[Script]":
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
def test_where_it_ends_and_what_waits(script_of: type[Script], name: str) -> None:
    script = script_of(str(CUTS[name]), "cut")
    cut = static_cut(script.file)
    assert (cut.count, cut.deferred) == (script.count, script.waiting), cut
    assert script.reason in cut.reason and bool(cut.reason) == (script.count < len(script.file.body))
    assert cut.is_asked == (script.reason == "here() says so")


@pytest.mark.parametrize("name", BASES)
def test_where_its_base_ends(script_of: type[Script], name: str) -> None:
    script = script_of(str(BASES[name]), "base")

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
def test_scripts_that_begin_alike_may_lie_elsewhere(script_of: type[Script], text: str, may: bool) -> None:
    """But for code: it keeps the path of the script, which tracebacks show."""
    file = script_of(text, "").file
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
def test_what_of_a_begin_takes_time(script_of: type[Script], text: str, brings: bool) -> None:
    file = script_of(f"import json\n{text}", "").file
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
def test_what_cannot_be_parsed_is_no_program(script_of: type[Script], text: str, why: str) -> None:
    with pytest.raises(Refused, match=f"app.py cannot be read: .*{why}"):
        script_of(text, "")


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
def test_a_file_is_the_same_program_whatever_follows(script_of: type[Script], head: str, behind: str, why: str) -> None:
    file = script_of(head, "").file
    doubt = file.head(len(file.body)).doubt(f"{head}{behind}".encode())
    assert why in doubt and bool(why) == bool(doubt)


def test_a_file_that_begins_otherwise_is_another_program(script_of: type[Script]) -> None:
    head: Head = script_of("import a\nx = 1", "").file.head(2)
    for text in (b"# a comment\nimport a\nx = 1", b"import a\nx = 2", b"import a", b"import a\r\nx = 1"):
        assert "begins with other statements" in head.doubt(text)
    whole = script_of("import a\n", "").file.head(1, is_whole=True)
    assert whole.doubt(b"import a\n") == ""
    assert "begins with other statements" in whole.doubt(b"import a\nx = 1")
