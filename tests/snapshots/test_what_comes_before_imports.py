"""What a program does before an import counts, and a snapshot is for no other begin of a script."""

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from lab.ranks import run
from tests.texts import read

from .baked import PROGRAMS, Baked, reach

pytestmark = pytest.mark.usefixtures("installed")

# What a program does before an import that depends on it, and the module.
BEFORE = read(PROGRAMS / "before_imports.txt")


@pytest.mark.parametrize("name", BEFORE)
def test_what_a_program_does_before_an_import_counts(baked: Baked, name: str) -> None:
    baked.module("plant", BEFORE[name].further["plant.py"])
    script = baked.script(f"import json\n{BEFORE[name]}import plant\nprint(plant.VALUE)")
    # Its pyc is written.
    baked.plain(script)
    baked.bake(script)
    for words in ([], ["word"]):
        assert baked.start_restored(script, *words).stdout == baked.plain(script, *words).stdout


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nVALUE = '--fast' in sys.argv",
        "import os, sys\nVALUE = os.path.basename(sys.argv[0])",
        "import sys\nsys.argv = [*sys.argv[1:], 'other']\nVALUE = sys.argv[0]",
        "import sys\nsys.argv = ['other']\nVALUE = sys.argv[0]",
        "import sys\nVALUE = sys.argv[1::-1]",
        "import sys\nVALUE = sys.orig_argv[1:]",
        "import os\nVALUE = os.getgroups()",
        "import os\nVALUE = os.getuid()",
    ],
)
def test_a_module_that_looks_at_the_program_or_its_user_ends_the_begin(baked: Baked, text: str) -> None:
    baked.module("plant", text)
    script = baked.script("import json\nimport plant\nprint(plant.VALUE)")
    assert "it ends before line 2, `import plant`: " in reach(baked.bake(script))
    assert baked.start_restored(script, "--fast").stdout == baked.plain(script, "--fast").stdout


# What yt does, and others that share their options with each program.
PARSES = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--fast", action="store_true", help="be fast")
VALUE = parser.parse_known_args(), parser.prog
"""


@pytest.mark.parametrize(
    "text", [PARSES, "import sys\nVALUE = len(sys.argv) > 1 and sys.argv[1]", "import sys\nVALUE = sys.argv[1:]"]
)
def test_a_module_that_looks_at_arguments_is_in_a_snapshot_for_those_alone(baked: Baked, text: str) -> None:
    baked.module("plant", text)
    script = baked.script("import json\nimport plant\nprint(plant.VALUE)")
    bake = baked.bake_command(script)
    outcome = run([*bake, "--fast", "x"], baked.environment(), 120, baked.modules)
    assert "it prints" in reach(outcome.stdout), outcome
    for words, says in ((["--fast", "x"], "from a snapshot"), ([], "these are others; the base is tried")):
        started = baked.start_restored(script, *words, MPIIMPORT_VERBOSE="1")
        assert says in started.stderr and started.stdout == baked.plain(script, *words).stdout


AWAY = ("sh", "-c", 'cd /; exec "$@"', "sh")


@pytest.mark.parametrize("entry", ["..", ".", "../extra"])
def test_relative_entries_of_the_search_path_are_searched_where_a_program_is_started(baked: Baked, entry: str) -> None:
    """What is looked for beside what is there is found when it comes, and so is what is changed there."""
    baked.module("plant", "try: import fastjson as json\nexcept ImportError: import json\nVALUE = json.__name__")
    script = baked.script(f"import sys\nsys.path.append('{entry}')\nimport plant\nprint(plant.VALUE)")
    directory = baked.image.parent / "work" / entry
    if entry != "../extra":
        (directory / "other.py").touch()
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "json\n"
    if directory.exists():
        (directory / "more.py").touch()
        assert baked.start_restored(script).stdout == "json\n"
    assert baked.start_fresh("this is another directory", script, before=AWAY).stdout == "json\n"
    directory.mkdir(exist_ok=True)
    (directory / "fastjson.py").touch()
    assert baked.start_fresh("", script).stdout == baked.plain(script).stdout == "fastjson\n"


def test_a_module_that_a_relative_entry_has_is_that_of_the_current_directory(baked: Baked) -> None:
    own = baked.image.parent / "work" / "own.py"
    own.write_text("VALUE = 1")
    script = baked.script("import sys\nsys.path.append('.')\nimport json, own\nprint(own.VALUE, own.__file__)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout
    own.write_text("VALUE = 20")
    assert baked.start(script).stdout == baked.plain(script).stdout


@pytest.mark.parametrize("text", ["sys.modules['__main__'].__file__", "getattr(__import__('__main__'), 'word', None)"])
def test_a_module_that_looks_at_the_script_is_in_a_snapshot_of_that_alone(baked: Baked, text: str) -> None:
    baked.module("plant", f"import sys\nVALUE = {text}")
    script = baked.script("word = 1\nimport plant\nprint(plant.VALUE)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout
    other = Path(script).with_name("other.py")
    other.write_text(Path(script).read_text())
    assert baked.start_fresh("which has run to its cut", str(other)).stdout == baked.plain(str(other)).stdout


@pytest.mark.parametrize("there", ["fastjson.py", "fastjson", "myproj.egg-info"])
def test_what_appears_beside_the_script_is_found(baked: Baked, there: str) -> None:
    baked.module("plant", "try: import fastjson as json\nexcept ImportError: import json\nVALUE = json.__name__")
    script = baked.script("import plant\nprint(plant.VALUE)")
    baked.bake(script)
    assert baked.start_restored(script).stdout == "json\n"
    beside = Path(script).parent / there
    if beside.suffix == ".py":
        beside.touch()
    else:
        beside.mkdir()
        (beside / "__init__.py").touch()
    assert baked.start_fresh(str(beside.parent), script).stdout == baked.plain(script).stdout


@pytest.mark.parametrize("there", ["own/__init__.py", f"own{EXTENSION_SUFFIXES[0]}"])
def test_what_hides_an_own_module_is_found(baked: Baked, there: str) -> None:
    """It has the same name, and comes before."""
    baked.script("VALUE = 1", "own.py")
    script = baked.script("import json\nimport own\nLIST = [own.VALUE for _ in range(2)]\nprint(LIST)")
    baked.bake(script)
    assert baked.start_restored(script).stdout == "[1, 1]\n"
    (Path(script).parent / "own").mkdir()
    assert "has another" not in baked.start_restored(script, MPIIMPORT_VERBOSE="1").stderr
    (Path(script).parent / there).write_text("VALUE = 2")
    started = baked.start(script, MPIIMPORT_VERBOSE="1")
    assert "has another own; the base is tried" in started.stderr
    assert started.stdout == baked.plain(script).stdout


@pytest.mark.parametrize("text", ["1", "__import__('importlib.metadata').metadata.version('modules')"])
def test_data_beside_the_script_hides_nothing(baked: Baked, text: str) -> None:
    """Nor for what asks for versions, which looks for metadata in each directory of the search path."""
    baked.module("plant", f"VALUE = {text}")
    script = baked.script("import json, plant\nprint(plant.VALUE)")
    (Path(script).parent / "json.txt").touch()
    assert "it prints" in reach(baked.bake(script))
    (Path(script).parent / "plant.txt").touch()
    assert baked.start_restored(script).stdout == "1\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("print(1)\nimport json", "no statement can be in a snapshot: line 1, `print(1)`: it prints"),
        ("", "no statement can be in a snapshot: the end of app.py"),
        ("def (", "app.py cannot be read: invalid syntax"),
    ],
)
def test_a_script_that_begins_with_a_blocker_has_no_image(baked: Baked, text: str, why: str) -> None:
    outcome = baked.try_to_bake(baked.script(text))
    assert outcome.status == 1 and why in outcome.stderr, outcome
    assert not baked.image.exists()


def test_only_a_file_is_an_image(baked: Baked) -> None:
    script = baked.script("import json")
    os.mkfifo(baked.image)
    assert "is no name for a file" in baked.try_to_bake(script).stderr
    assert baked.image.is_fifo()
    assert baked.check().status == 1
    assert "it is a link, no file," in baked.start(script).stderr


def test_a_copy_knows_its_python(baked: Baked) -> None:
    script = baked.script("import json, sys\nprint(sys.executable)")
    baked.bake(script)
    baked.image.with_name("image.plain").unlink()
    outcome = baked.start_fresh("TZ", script, TZ="Asia/Tokyo")
    assert outcome.stdout == baked.plain(script).stdout
