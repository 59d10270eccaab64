"""What a loop over a set leaves behind is chance, which nobody sees who does not read it."""

from pathlib import Path

import pytest

from mpiimport.snapshot.audit.leftovers import is_leftover
from tests.texts import read

from .baked import PROGRAMS, Baked

# Modules that bind `kind` in a loop; ``left``: that is read by nothing else.
MODULES = read(PROGRAMS / "leftovers.txt")


@pytest.mark.parametrize("name", MODULES)
def test_what_is_left_is_read_by_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(str(MODULES[name]))
    assert is_leftover(str(path), "kind") == ("left" in MODULES[name].traits)


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
