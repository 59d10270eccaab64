"""The begin ends before what keeps something that belongs to one process: no snapshot shares it."""

import pytest

from tests.conftest import but_everyday
from tests.texts import parameters, read

from .baked import PROGRAMS, Baked, reach

pytestmark = pytest.mark.usefixtures("installed")

# A module of Python each; VALUE is what it keeps.
BLOCKERS = read(PROGRAMS / "hidden_state.txt")
# Modules, and why.
LEFT_UNDONE = read(PROGRAMS / "left_undone.txt")


SHOWN = "import json\nimport plant\nprint(plant.VALUE)"


@pytest.mark.parametrize("name", parameters(BLOCKERS))
def test_a_module_that_keeps_what_is_its_processs_own_ends_the_begin(baked: Baked, name: str) -> None:
    baked.module("plant", str(BLOCKERS[name]))
    said = baked.bake(baked.script(SHOWN))
    assert "it ends before line 2, `import plant`: " in reach(said), said
    assert baked.start_restored(baked.script(SHOWN)).status == 0


@pytest.mark.parametrize("name", LEFT_UNDONE)
def test_what_no_other_process_can_have_ends_the_begin(baked: Baked, name: str) -> None:
    module = LEFT_UNDONE[name]
    baked.module("plant", module.text)
    said = reach(baked.bake(baked.script("import json\nimport plant")))
    assert "it ends before line 2, `import plant`: " in said and module.further.get("why", "").strip() in said


@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_a_seed_that_is_that_of_each_process_stays(baked: Baked, module: str) -> None:
    baked.module("plant", f"import {module}\n{module}.seed(3)")
    script = baked.script(f"import json\nimport plant, {module}\nprint({module}.random())")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script) == baked.plain(script)


@pytest.mark.parametrize("module", but_everyday(["random", "numpy.random"], {"random"}))
def test_a_seed_that_follows_from_the_rank_ends_the_begin(baked: Baked, module: str) -> None:
    baked.module("plant", f"import os, {module}\n{module}.seed(int(os.environ.get('PMI_RANK', '3')))")
    said = reach(baked.bake(baked.script("import json\nimport plant")))
    assert "`import plant`: it seeds the generator of " in said
