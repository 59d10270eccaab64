"""An image holds what nothing of the program comes before, and is for no other begin of a script."""

import os
from pathlib import Path

import pytest

from lab.ranks import run

from .conftest import Warm

# What a program does before an import that depends on it, and the module.
BEFORE = {
    "context": ("import decimal\ndecimal.getcontext().prec = 7", "from decimal import Decimal\nVALUE = Decimal(1) / 3"),
    "patch": ("import json\njson.dumps = len", "from json import dumps\nVALUE = dumps.__name__"),
    "stub": ("import sys\nsys.modules['stubbed'] = sys", "try: import stubbed as VALUE\nexcept ImportError: VALUE = 0"),
    "environment": (
        "import os, sys\nif len(sys.argv) > 1: os.environ['A'] = '1'",
        "import os\nVALUE = os.environ.get('A')",
    ),
    "logging": ("import logging\nlogging.basicConfig(level=20)", "import logging\nVALUE = logging.getLogger().level"),
    "exit handler": (
        "import atexit\natexit.register(print, 'program')",
        "import atexit\nVALUE = atexit.register(print, 'module')",
    ),
    "recursion": ("import sys\nsys.setrecursionlimit(3000)", "import sys\nVALUE = sys.getrecursionlimit()"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_what_a_program_does_before_an_import_counts(warm: Warm, name: str) -> None:
    before, module = BEFORE[name]
    warm.module("plant", module)
    script = warm.script(f"import json\n{before}\nimport plant\nprint(plant.VALUE)")
    # Its pyc is written.
    warm.plain(script)
    warm.bake(script)
    for words in ([], ["word"]):
        assert warm.start_warm(script, *words).stdout == warm.plain(script, *words).stdout


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nVALUE = '--fast' in sys.argv",
        "import os, sys\nVALUE = os.path.basename(sys.argv[0])",
        "import sys\nVALUE = len(sys.argv)",
        "import sys\nVALUE = sys.orig_argv[1:]",
        "import sys\nVALUE = sys.modules['__main__'].__file__",
        "import __main__\nVALUE = getattr(__main__, 'word', None)",
        "import os\nVALUE = os.getgroups()",
        "import os\nVALUE = os.getuid()",
    ],
)
def test_a_module_that_looks_at_the_program_or_its_user_is_left_out(warm: Warm, text: str) -> None:
    warm.module("plant", text)
    script = warm.script("import json, plant\nprint(plant.VALUE)")
    assert "left out plant: " in warm.bake(script)
    assert warm.start_warm(script, "--fast").stdout == warm.plain(script, "--fast").stdout


def test_the_command_line_that_a_module_keeps_is_that_of_the_program(warm: Warm) -> None:
    warm.module("plant", "import sys\nWORDS = sys.argv")
    script = warm.script("import plant\nprint(plant.WORDS[1:])")
    warm.bake(script)
    assert warm.start_warm(script, "word").stdout == "['word']\n"


@pytest.mark.parametrize("there", ["fastjson.py", "fastjson", "myproj.egg-info"])
def test_what_appears_beside_the_script_is_found(warm: Warm, there: str) -> None:
    warm.module("plant", "try: import fastjson as json\nexcept ImportError: import json\nVALUE = json.__name__")
    script = warm.script("import plant\nprint(plant.VALUE)")
    warm.bake(script)
    assert warm.start_warm(script).stdout == "json\n"
    beside = Path(script).parent / there
    if beside.suffix == ".py":
        beside.touch()
    else:
        beside.mkdir()
        (beside / "__init__.py").touch()
    assert warm.start_fresh(str(beside.parent), script).stdout == warm.plain(script).stdout


def test_data_beside_the_script_hides_nothing(warm: Warm) -> None:
    script = warm.script("import json\nprint(1)")
    (Path(script).parent / "json.txt").touch()
    warm.bake(script)
    assert warm.start_warm(script).stdout == "1\n"


def test_a_script_that_begins_otherwise_starts_plainly(warm: Warm) -> None:
    script = warm.script("import json\nprint(1)")
    warm.bake(script)
    warm.script("import json\nprint(2)")
    assert warm.start_warm(script).stdout == "2\n"
    warm.script("print(3)\nimport json")
    assert warm.start_fresh("begins with other imports", script).stdout == "3\n"


@pytest.mark.parametrize("text", ["print(1)", "", "if True:\n    import json", "def ("])
def test_a_script_without_leading_imports_has_no_image(warm: Warm, text: str) -> None:
    outcome = warm.try_to_bake(warm.script(text))
    assert outcome.status == 1 and "no image is made: the script" in outcome.stderr
    assert not warm.image.exists()


def test_only_a_file_is_an_image(warm: Warm) -> None:
    script = warm.script("import json")
    os.mkfifo(warm.image)
    assert "is no name for a file" in warm.try_to_bake(script).stderr
    assert warm.image.is_fifo()
    assert warm.check().status == 1
    assert "it is no file" in warm.start(script).stderr


def test_without_a_known_python_nothing_is_started(warm: Warm) -> None:
    script = warm.script("import json\nprint(1)")
    outcome = run([warm.starter, str(warm.image), script], warm.environment(), 30)
    assert (outcome.status, outcome.stdout) == (127, "")
    assert "nor is it known which Python to start" in outcome.stderr


def test_a_copy_knows_its_python(warm: Warm) -> None:
    script = warm.script("import json, sys\nprint(sys.executable)")
    warm.bake(script)
    warm.image.with_name("image.plain").unlink()
    outcome = warm.start_fresh("TZ", script, TZ="Asia/Tokyo")
    assert outcome.stdout == warm.plain(script).stdout


# A module that others come after; and what one of them does with a variable that a third one keeps.
WITHIN = "import os\nos.environ['FOR_A_WHILE'] = '1'\nimport part\n"
KEEPS = "import os\nVALUE = os.environ.get('FOR_A_WHILE')"
SHOWS = "import json, early\nimport late\nprint(early.part.VALUE, late.VALUE, os.environ.get('FOR_A_WHILE'))"


@pytest.fixture
def parts(warm: Warm) -> Warm:
    for name in ("part", "late"):
        warm.module(name, KEEPS)
    return warm


def test_what_a_module_changes_while_it_is_imported_ends_no_image(parts: Warm) -> None:
    """NumPy has done so with OPENBLAS_MAIN_FREE."""
    parts.module("early", WITHIN + "del os.environ['FOR_A_WHILE']")
    script = parts.script(f"import os\n{SHOWS}")
    parts.bake(script)
    assert parts.start_warm(script) == parts.plain(script)
    parts.module("late", "VALUE = 'another'")
    assert parts.start_fresh("late.py", script).stdout == "1 another None\n"


@pytest.mark.parametrize("undone", ["", "del os.environ['FOR_A_WHILE']"])
def test_what_a_module_leaves_changed_counts(parts: Warm, undone: str) -> None:
    parts.module("early", WITHIN)
    parts.module("undo", f"import os\n{undone}")
    script = parts.script(f"import os\n{SHOWS.replace('import late', 'import undo, late')}")
    parts.bake(script)
    assert parts.start_warm(script) == parts.plain(script)
