"""Names that a program imports are bound to what they are at their own statement, whatever is imported behind it."""

import pytest

from tests.conftest import but_everyday
from tests.warm.conftest import Warm

CORE = "MODE = 'slow'\ndef solve(): return 'plain'\n"
MADE = (
    "import core\nMADE = []\ndef __getattr__(name):\n    if name != 'settings': raise AttributeError(name)\n"
    "    core.MODE = 'set'\n    globals()['settings'] = ['made']\n    return settings\n"
)
WARNS = (
    "import warnings\ndef __getattr__(name):\n    import third\n"
    "    warnings.warn('it is old', DeprecationWarning, stacklevel=2)\n    return getattr(third, name)\n"
)
# Modules, the program's imports, and what it prints.
PROGRAMS = {
    "value": (
        {"core": CORE, "plant": "import core\ncore.MODE = 'fast'"},
        "from core import MODE\nimport plant",
        "MODE",
    ),
    "function": (
        {"core": CORE, "plant": "import core\ncore.solve = lambda: 'fast'"},
        "from core import MODE, solve as it\nimport plant",
        "it()",
    ),
    "star": (
        {"core": CORE, "plant": "import core\ncore.MODE, core.OTHER = 'fast', 1"},
        "from core import *\nimport plant",
        "MODE, 'OTHER' in vars()",
    ),
    "module": (
        {"core": CORE, "plant": "import sys\nsys.modules['core'] = sys.modules['plant']"},
        "import core\nimport plant",
        "core.__name__",
    ),
    "module of a package": (
        {"package/__init__": "", "package/core": "", "plant": "import package\npackage.core = print"},
        "from package import core\nimport plant",
        "type(core).__name__",
    ),
    "name that goes": (
        {"core": CORE, "plant": "import core\ndel core.MODE"},
        "from core import MODE\nimport plant",
        "MODE",
    ),
    "made by an access": (
        {"core": CORE, "made": MADE, "plant": "import core\nVALUE = core.MODE"},
        "from made import settings\nimport plant",
        "settings, plant.VALUE",
    ),
    "warning of an access": (
        {"third": "def it(): pass", "old": WARNS, "plant": "import warnings\nwarnings.simplefilter('ignore')"},
        "from old import it\nimport plant",
        "it.__name__",
    ),
}


@pytest.mark.parametrize("name", but_everyday(PROGRAMS, {"value", "star", "made by an access"}))
def test_names_are_bound_as_at_their_statement(warm: Warm, name: str) -> None:
    modules, imports, shown = PROGRAMS[name]
    (warm.modules / "package").mkdir()
    for each, text in modules.items():
        warm.module(each, text)
    script = warm.script(f"import warnings\nimport csv\n{imports}\nimport colorsys\nprint({shown})")
    warm.bake(script, PYTHONWARNINGS="default")
    started, plain = (start(script, PYTHONWARNINGS="default") for start in (warm.start_warm, warm.plain))
    assert (started.stdout, started.stderr) == (plain.stdout, plain.stderr)


def test_what_only_imports_a_module_takes_nothing_away(warm: Warm) -> None:
    """Packages give names of their modules late, and that is how most of them are used."""
    warm.module("third", "def it(): pass")
    warm.module("lazy", "def __getattr__(name):\n    import third\n    return getattr(third, name)")
    text = "import csv\nfrom lazy import it\n"
    counts = [warm.bake(warm.script(f"{text}{more}print(1)")).split()[2] for more in ("", "import colorsys\n")]
    assert int(counts[1]) == int(counts[0]) + 1
