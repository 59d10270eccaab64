"""The imports of a module are read from its bytecode, without executing it, under every Python that is served."""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from mpiimport.runtime.payload.bytecode import words
from tests.conftest import ROOT, RUNNING

Imports = set[tuple[str, int, tuple[str, ...]]]
# The running Python compares its whole standard library, the others every so many modules.
OTHERS_STEP = 4
READER = Path(__file__).with_name("statements.py")

SNIPPETS: dict[str, tuple[str, Imports]] = {
    "nothing": ("a = 1; b = a.c", set()),
    "plain": ("import a", {("a", 0, ())}),
    "dotted": ("import a.b.c", {("a.b.c", 0, ())}),
    "several": ("import a, b.c, d as e", {("a", 0, ()), ("b.c", 0, ()), ("d", 0, ())}),
    "alias": ("import a as b", {("a", 0, ())}),
    "dotted alias": ("import a.b.c as d", {("a.b.c", 0, ())}),
    "from": ("from a.b import c", {("a.b", 0, ("c",))}),
    "from several": ("from a import b, c as d, e", {("a", 0, ("b", "c", "e"))}),
    "from all": ("from a import *", {("a", 0, ("*",))}),
    "future": ("from __future__ import annotations", {("__future__", 0, ("annotations",))}),
    "relative": ("from . import a, b", {("", 1, ("a", "b"))}),
    "relative module": ("from .a.b import c", {("a.b", 1, ("c",))}),
    "relative parents": ("from .. import a\nfrom ...b import c", {("", 2, ("a",)), ("b", 3, ("c",))}),
    "many parents": (f"from {'.' * 300}a import b", {("a", 300, ("b",))}),
    "try": (
        "try:\n import a\nexcept ImportError:\n import b\nelse:\n import c\nfinally:\n import d",
        {(name, 0, ()) for name in "abcd"},
    ),
    "branches": (
        "if x:\n import a\nelif y:\n from b import c\nelse:\n import d\nwhile x:\n import e\nfor i in x:\n import f",
        {("a", 0, ()), ("b", 0, ("c",)), ("d", 0, ()), ("e", 0, ()), ("f", 0, ())},
    ),
    "with and match": (
        "with x:\n import a\nmatch x:\n case 1:\n  import b\n case _:\n  from .c import d",
        {("a", 0, ()), ("b", 0, ()), ("c", 1, ("d",))},
    ),
    "class body": (
        "class A:\n import a\n class B:\n  from .b import c\n  def method(self):\n   import d",
        {("a", 0, ()), ("b", 1, ("c",))},
    ),
    "function bodies": (
        "def f():\n import a\n class C:\n  import b\nasync def g():\n import c\nh = lambda: __import__('d')\nimport e",
        {("e", 0, ())},
    ),
    "decorated function": ("@d\ndef f(x=1):\n import a\nimport b", {("b", 0, ())}),
    "module __getattr__": (
        "import a\ndef __getattr__(name):\n if name == 'b':\n  from . import b\n  return b\ndef __dir__():\n import c",
        {("a", 0, ())},
    ),
    "between other loads": ("x = 5, None; import a; y = 'text', 3; from .b import c", {("a", 0, ()), ("b", 1, ("c",))}),
    "more than 300 names and constants": (
        "\n".join(f"import a{i}\nv{i} = '{i}'\nfrom .b{i} import c{i}" for i in range(400)),
        {(f"a{i}", 0, ()) for i in range(400)} | {(f"b{i}", 1, (f"c{i}",)) for i in range(400)},
    ),
    "more than 65536 names": (
        "\n".join(f"v{i}" for i in range(66000)) + "\nfrom .a import b",
        {("a", 1, ("b",))},
    ),
}
# By the first version that has the syntax.
NEWER_SNIPPETS: dict[tuple[int, int], dict[str, tuple[str, Imports]]] = {
    (3, 11): {"except group": ("try:\n import a\nexcept* E:\n import b", {("a", 0, ()), ("b", 0, ())})},
    (3, 12): {
        "generic class": ("class A[T]:\n import a", {("a", 0, ())}),
        "generic function": ("def f[T]():\n import a\nimport b", {("b", 0, ())}),
        "type alias": ("type A[T] = list[T]\nimport b", {("b", 0, ())}),
    },
    (3, 15): {
        "lazy": (
            "lazy import a.b, c\nlazy from .d import e\ntry:\n import f\nexcept ImportError: pass",
            {("a.b", 0, ()), ("c", 0, ()), ("d", 1, ("e",)), ("f", 0, ())},
        ),
    },
}


class Reading(NamedTuple):
    """What one Python should find in the snippets, what it found, and how its standard library was read."""

    expected: dict[str, Imports]
    found: dict[str, Imports]
    compared: int
    differences: dict[str, object]


@pytest.fixture(scope="module")
def reading(version: str, python: Path) -> Reading:
    snippets = dict(SNIPPETS)
    for first, newer in NEWER_SNIPPETS.items():
        snippets |= newer if int(version.partition(".")[2]) >= first[1] else {}
    step = 1 if version == RUNNING else OTHERS_STEP
    done = subprocess.run(
        [python, "-I", READER],
        input=json.dumps([str(ROOT), {name: source for name, (source, _) in snippets.items()}, step]),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found, compared, differences = json.loads(done.stdout)
    read = {name: {(module, level, tuple(names)) for module, level, names in found[name]} for name in found}
    return Reading({name: imports for name, (_, imports) in snippets.items()}, read, compared * step, differences)


def test_every_form_of_import_is_found(reading: Reading) -> None:
    expected = reading.expected
    assert {name: reading.found[name] for name in expected if reading.found[name] != expected[name]} == {}


def test_imports_of_the_standard_library_are_those_of_its_syntax_trees(reading: Reading) -> None:
    assert reading.compared > 200
    assert reading.differences == {}


def test_words_are_names_and_strings_of_nested_code_too() -> None:
    source = "import a\nx = ('b', {'c'}, ['d'])\ndef f():\n 'e'\n return g.h, i in {'j', ('k',)}, lambda: 'l'"
    found = words(compile(source, "<source>", "exec"))
    assert set("abcdegh") | set("xjkl") <= found
    assert not {"import", "return", source} & found
