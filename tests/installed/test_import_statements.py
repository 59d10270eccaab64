"""The imports of a module are read from its bytecode, without executing it, under every Python that is served."""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from mpiimport.runtime.payload.bytecode import words
from tests.conftest import ROOT, RUNNING
from tests.texts import read

Imports = set[tuple[str, int, tuple[str, ...]]]
# The running Python compares its whole standard library, the others every so many modules.
OTHERS_STEP = 4
READER = Path(__file__).with_name("statements.py")


def imports_of(text: str) -> Imports:
    """Lines of a module, of how many levels it is relative to, and of names."""
    words = [line.split() for line in text.splitlines()]
    return {(module.strip("-"), int(level), tuple(names)) for module, level, *names in words}


# ``3_12``: syntax of this version.
TEXTS = read(Path(__file__).with_name("import_statements.txt"))
SNIPPETS: dict[str, tuple[str, Imports]] = {
    "many parents": (f"from {'.' * 300}a import b", {("a", 300, ("b",))}),
    "more than 300 names and constants": (
        "\n".join(f"import a{i}\nv{i} = '{i}'\nfrom .b{i} import c{i}" for i in range(400)),
        {(f"a{i}", 0, ()) for i in range(400)} | {(f"b{i}", 1, (f"c{i}",)) for i in range(400)},
    ),
    "more than 65536 names": (
        "\n".join(f"v{i}" for i in range(66000)) + "\nfrom .a import b",
        {("a", 1, ("b",))},
    ),
}


class Reading(NamedTuple):
    """What one Python should find in the snippets, what it found, and how its standard library was read."""

    expected: dict[str, Imports]
    found: dict[str, Imports]
    compared: int
    differences: dict[str, object]


@pytest.fixture(scope="module")
def reading(version: str, python: Path) -> Reading:
    minor = int(version.partition(".")[2])
    texts = {name: each for name, each in TEXTS.items() if not each.traits or int(each.traits[0][2:]) <= minor}
    snippets = {**SNIPPETS, **{name: (each.text, imports_of(each.further["imports"])) for name, each in texts.items()}}
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
