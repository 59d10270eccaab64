"""register_before_snapshot, register_after_restore and here: what programs and modules say about their own image."""

from pathlib import Path

import pytest

import mpiimport
from tests.conftest import but_everyday
from tests.texts import parameters, read

from .baked import PROGRAMS, USING, Baked, reach


@pytest.fixture(autouse=True)
def importable(tmp_path: Path, installed: None) -> None:
    """mpiimport is on the program's search path, as its wheel has it."""
    modules = tmp_path / "modules"
    (modules / "mpiimport").symlink_to(Path(mpiimport.__file__).parent)


def test_plainly_they_do_nothing(baked: Baked) -> None:
    before = "@snapshot.register_before_snapshot\ndef b(): print('before')\n"
    text = f"{before}@snapshot.register_after_restore\ndef a(): print('after')\nsnapshot.here()"
    assert baked.plain(baked.script(USING + text + "\nprint('on')")).stdout == "on\n"


def test_a_module_closes_and_opens_what_no_image_can_hold(baked: Baked) -> None:
    """Those for the image are called last first, those for starts in their order, once in each."""
    baked.module(
        "plant",
        f"{USING}FILE = open('/dev/null')\nCALLS = []\n"
        "def close():\n    FILE.close()\n    CALLS.append('close')\n"
        "def reopen():\n    global FILE\n    FILE = open('/dev/null')\n    CALLS.append('open')\n"
        "snapshot.register_before_snapshot(close)\nsnapshot.register_before_snapshot(lambda: CALLS.append('first'))\n"
        "snapshot.register_after_restore(reopen)\nsnapshot.register_after_restore(lambda: CALLS.append('last'))",
    )
    script = baked.script("import plant\nprint(plant.FILE.closed, plant.CALLS)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "False ['first', 'close', 'open', 'last']\n"
    assert baked.plain(script).stdout == "False []\n"


TOKEN = f"import os\n{USING}"
TOKEN += "def draw():\n    global TOKEN\n    TOKEN = os.urandom(8).hex()\ndraw()\n"


def test_what_a_module_renews_is_new(baked: Baked) -> None:
    baked.module("plant", TOKEN + "snapshot.register_after_restore(draw, renews=['TOKEN'])")
    script = baked.script("import plant\nprint(plant.TOKEN)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout != baked.start_restored(script).stdout


SAID_ONLY = "snapshot.register_after_restore(lambda: None, renews=['TOKEN'])"


@pytest.mark.parametrize(
    "text",
    but_everyday(
        [
            "snapshot.register_after_restore(draw)",
            "snapshot.register_after_restore(draw, renews=['OTHER'])",
            SAID_ONLY,
            "snapshot.register_after_restore(draw, renews=['TOKEN'])\nOTHER = os.urandom(8)",
            "snapshot.register_after_restore(draw, renews=['TOKEN'])\nOTHER = os.getpid()",
        ],
        {SAID_ONLY},
    ),
)
def test_what_a_module_only_says_to_renew_ends_the_begin(baked: Baked, text: str) -> None:
    baked.module("plant", TOKEN + text)
    said = baked.bake(baked.script("import json\nimport plant\nprint(plant.TOKEN)"))
    assert "it ends before line 2, `import plant`: " in reach(said)


@pytest.mark.full
def test_what_is_done_for_the_image_is_looked_at_too(baked: Baked) -> None:
    baked.module("plant", f"import os\n{USING}V = []\nsnapshot.register_before_snapshot(lambda: V.append(os.getpid()))")
    assert "`import plant`: " in reach(baked.bake(baked.script("import json\nimport plant")))


@pytest.mark.full
def test_a_function_that_fails_before_the_image_refuses_it(baked: Baked) -> None:
    baked.module("plant", f"{USING}snapshot.register_before_snapshot(lambda: 1 / 0)")
    outcome = baked.try_to_bake(baked.script("import plant, json"))
    assert outcome.status == 1 and "ZeroDivisionError" in outcome.stderr and not baked.image.exists()


BEGIN = (
    '"""Its docstring."""\nfrom __future__ import annotations\nimport json, os, sys\nimport beside\n'
    f"{USING}"
    "class Point:\n    def __init__(self): self.x = 1\n"
    "table = {n: n ** 2 for n in range(1000)}\nwith open(os.path.dirname(os.path.abspath(__file__)) + '/data') as f:\n"
    "    data = f.read()\npoint = Point()\nsnapshot.here()\n"
)
REST = (
    "'no docstring'\ndef f(x: Unknown) -> Nowhere: return table[x]\n"
    "print(f(7), data, point.x, type(point).__module__, __doc__, __name__, __file__, sys.argv[1:], beside.VALUE)\n"
    "print(sorted(vars()), sys.path[0], sys.modules['__main__'].point is point)\n"
    "import plant\nprint(os.getpid() == plant.PID)\n"
)


def with_data(baked: Baked, text: str) -> str:
    baked.module("plant", "import os\nPID = os.getpid()")
    script = baked.script(text)
    baked.script("VALUE = 3", "beside.py")
    baked.script("read", "data")
    return script


def test_a_script_goes_on_from_here(baked: Baked) -> None:
    script = with_data(baked, BEGIN + REST)
    baked.bake(script)
    started = baked.start_restored(script, "one")
    assert started == baked.plain(script, "one")
    assert started.stdout.startswith("49 read 1 __main__ Its docstring. __main__ ")


@pytest.mark.full
def test_the_begin_is_not_run_again(baked: Baked) -> None:
    slow = "import json\nfrom mpiimport import snapshot\nfor n in range(10 ** 6):\n    pass\nsnapshot.here()\n"
    script = baked.script(slow + "print(n)\nimport resource\nprint(resource.getrusage(0).ru_utime)")
    baked.bake(script)
    first, seconds = baked.start_restored(script).stdout.split()
    assert first == "999999"
    assert float(seconds) < float(baked.plain(script).stdout.split()[1])


@pytest.mark.parametrize("question", ["os.path.exists(FILE)", "configparser.ConfigParser().read(FILE)"])
def test_a_file_that_comes_beside_the_script_starts_plainly(baked: Baked, question: str) -> None:
    file = "FILE = os.path.dirname(os.path.abspath(__file__)) + '/settings.ini'"
    script = baked.script(f"import os, configparser\n{USING}{file}\nx = {question}\nsnapshot.here()\nprint(bool(x))")
    baked.bake(script)
    assert baked.start_restored(script).stdout == "False\n"
    baked.script("", "settings.ini")
    assert baked.start_fresh("has changed", script).stdout == "True\n"


def test_another_begin_file_or_place_starts_plainly(baked: Baked) -> None:
    script = with_data(baked, BEGIN + REST)
    baked.bake(script)
    assert baked.start_restored(baked.script(BEGIN + "print(table[3])")).stdout == "9\n"
    directory = Path(script).parent
    (directory / "out").touch()
    assert baked.start_restored(script).stdout == "9\n"
    (directory / "json.py").write_text("raise SystemExit('hidden')")
    assert baked.start_fresh("has another json", script).status == 1
    (directory / "json.py").unlink()
    copy = directory.parent / "work" / "app.py"
    for name in ("app.py", "data", "beside.py"):
        copy.with_name(name).write_text((directory / name).read_text())
    assert baked.start_fresh("which has run to its cut", str(copy)).stdout == "9\n"
    baked.script(BEGIN.replace("1000", "2000") + "print(len(table))")
    assert baked.start_fresh("begins with other statements", script).stdout == "2000\n"
    baked.script(BEGIN + "print(data)")
    (directory / "data").write_text("changed")
    assert baked.start_fresh("has changed", script).stdout == "changed\n"


# What a script does, and why its begin ends before that.
BLOCKERS = read(PROGRAMS / "before_here.txt")


@pytest.mark.parametrize("name", parameters(BLOCKERS))
def test_what_ends_the_begin_before_here(baked: Baked, name: str) -> None:
    text, why = BLOCKERS[name].text, BLOCKERS[name].further["why"]
    said = reach(baked.bake(with_data(baked, f"import os, sys\n{USING}{text}snapshot.here()\nprint(1)")))
    assert f", `{text.splitlines()[-1]}`: " in said and why.removesuffix("\n") in said


@pytest.mark.full
def test_a_variable_that_the_script_reads_is_in_the_key(baked: Baked) -> None:
    script = baked.script(f"import os\n{USING}size = os.environ.get('SIZE', '1')\nsnapshot.here()\nprint(size)")
    baked.bake(script)
    assert baked.start_restored(script).stdout == "1\n"
    assert baked.start_fresh("SIZE", script, SIZE="2").stdout == "2\n"
