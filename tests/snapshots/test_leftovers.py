"""What a loop over a set leaves behind is chance, which nobody sees who does not read it."""

from pathlib import Path

import pytest

from mpiimport.snapshot.audit.leftovers import is_leftover

from .conftest import Baked

LOOP = "for kind in {int, str}:\n    print(kind)\n"
# A module that binds `kind` in a loop -> whether that is read by nothing else.
MODULES = {
    LOOP: True,
    LOOP + LOOP: True,
    "for kind, number in pairs:\n    print(kind)\n": True,
    LOOP + "def ask(kind):\n    return kind\n": True,
    LOOP + "found = [kind for kind in (int, str)]\n": True,
    "for each in {int, str}:\n    kind = each.__name__\n    print(kind)\n": True,
    "for each in {int, str}:\n    print(kind)\n    kind = each\n": False,
    "for each in {int, str}:\n    kind = kind + [each]\n": False,
    "for each in {int, str}:\n    found[kind] = each\n": False,
    "for each in {int, str}:\n    if each is int:\n        kind = each\n": False,
    "for each in {int, str}:\n    kind = each\nprint(kind)\n": False,
    LOOP + "print(kind)\n": False,
    LOOP + "kind = int\n": False,
    LOOP + "found = [each for each in kind]\n": False,
    LOOP + "def ask():\n    return kind\n": False,
    LOOP + "def ask(one=kind):\n    return one\n": False,
    LOOP + "class Asker:\n    def ask(self):\n        return lambda: kind\n": False,
    LOOP + "class Asker:\n    kept = kind\n": False,
    LOOP + "def change():\n    global kind\n    kind = 1\n": False,
    "for kind in {int, str}:\n    functions.append(lambda: kind)\n": False,
    "for kind in {int, str}:\n    if kind is int:\n        break\n": False,
    "kind = 1\n": False,
    "def begin():\n    for kind in {int, str}:\n        pass\n": False,
    "for kind in": False,
}


@pytest.mark.parametrize("text", MODULES)
def test_what_is_left_is_read_by_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert is_leftover(str(path), "kind") == MODULES[text]


def test_what_a_loop_leaves_keeps_no_module_out(baked: Baked) -> None:
    """Which of the classes it is may follow from their addresses, and from nothing that a process is told."""
    baked.install()
    baked.module("kinds", "for number in range(997):\n    globals()[f'Kind{number}'] = type(f'Kind{number}', (), {})")
    # As a set of them is ordered that is larger than a page.
    loop = "import kinds, os\nfor kind in [vars(kinds)[f'Kind{(id(kinds) >> 12) % 997}']]:\n"
    baked.module("left", loop + "    pass\n")
    baked.module("read", loop + "    pass\ndef ask():\n    return kind\n")
    rank = "import kinds, os\nfor kind in [vars(kinds)['Kind' + os.environ.get('SLURM_PROCID', '0')]]:\n    pass\n"
    baked.module("told", rank)
    for last in ("read", "told"):
        said = baked.bake(baked.script(f"import left\nimport {last}\nprint(left.kind.__name__[:4])"))
        assert f"ends before line 2, `import {last}`: kind of {last} differs between processes" in said
