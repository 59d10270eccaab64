"""What imports do that is no process's own is done in each process that starts from a snapshot, as plainly."""

import os
import shutil
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import but_everyday
from tests.texts import parameters, read

from .baked import PROGRAMS, Baked, reach

pytestmark = pytest.mark.usefixtures("installed")

SHOWN = "import json\nimport plant\nprint(plant.VALUE)"

# Scripts, and the modules that they import. ``shows``: how the output begins; ``ends``: what ends the begin.
SCRIPTS = read(PROGRAMS / "what_imports_do.txt")
WHILE = "what a module leaves changed counts"


def lay_out(baked: Baked, name: str, **changes: str) -> str:
    """Write the modules of a script, some of them otherwise, and return the script."""
    for file, text in SCRIPTS[name].further.items():
        if file.endswith(".py"):
            baked.module(file.removesuffix(".py"), changes.get(file.removesuffix(".py"), text))
    return baked.script(str(SCRIPTS[name]))


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_is_done_in_each_start_as_plainly(baked: Baked, name: str) -> None:
    script, further = lay_out(baked, name), SCRIPTS[name].further
    assert further.get("ends", "it prints").strip() in reach(baked.bake(script))
    plain = baked.plain(script, "word")
    assert baked.start_restored(script, "word") == plain
    assert plain.stdout.startswith(further.get("shows", ""))


def test_a_copy_of_what_reads_times_is_in_a_snapshot(baked: Baked) -> None:
    """astropy's knows the names of the time zone, and compares them before it reads a time."""
    baked.module("astropy/extern/_strptime", Path(os.__file__).with_name("_strptime.py").read_text())
    script = baked.script("import astropy.extern._strptime as s\nprint(s._strptime_time('12 UTC', '%H %Z')[:4])")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script) == baked.plain(script)


def test_what_is_found_by_a_search_path_that_is_another_for_a_while(baked: Baked, tmp_path: Path) -> None:
    """OpenCV's package is such a one."""
    (tmp_path / "other").mkdir()
    part = tmp_path / "other" / "part.py"
    part.write_text("VALUE = 'other'")
    baked.module("plant", f"import sys\nsys.path.insert(0, '{tmp_path}/other')\nimport part\nsys.path.pop(0)")
    script = baked.script("import plant\nprint(plant.part.VALUE)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script) == baked.plain(script)
    part.write_text("VALUE = 'changed'")
    assert baked.start_fresh("has changed since", script).stdout == "changed\n"


# Ways to what lies beside the script: a module plug_a, a directory plug_d.
FINDS = read(PROGRAMS / "beside_the_script.txt")


@pytest.mark.parametrize("name", parameters(FINDS))
def test_what_lies_beside_the_script_is_found(baked: Baked, name: str) -> None:
    baked.module("plant", str(FINDS[name]))
    script = baked.script(SHOWN)
    baked.script("", "plug_a.py")
    (Path(script).parent / "plug_d").mkdir()
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    baked.script("", "plug_b.py")
    (Path(script).parent / "plug_d" / "__init__.py").touch()
    assert baked.start(script).stdout == baked.plain(script).stdout


def test_variables_that_imports_set_are_set(baked: Baked) -> None:
    baked.module("plant", "import os\nos.environ['PLANTED'] = 'by an import'\nos.environ.pop('GONE', None)")
    script = baked.script("import plant, os, subprocess\nprint(os.environ.get('PLANTED'), os.environ.get('GONE'))")
    baked.bake(script, GONE="1")
    assert baked.start(script, GONE="1").stdout == baked.plain(script, GONE="1").stdout


def test_an_import_that_asks_whether_the_search_path_has_an_entry_is_answered_for_each_script(
    baked: Baked, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    baked.module("plant", f"import sys\nVALUE = {str(other)!r} in sys.path")
    script = baked.script("import plant\nprint(plant.VALUE)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "False\n"
    moved = str(shutil.copy(script, other))
    assert baked.start_fresh(f"imports looked whether the search path has {other}", moved).stdout == "True\n"


HANDLES = "import faulthandler, signal\nsignal.signal(1, lambda *given: print('handled'))\nfaulthandler.register(12)\n"
HANDLES += "signal.signal(10, signal.SIG_DFL)"
SIGNALLED = """
import plant, faulthandler, json, os, signal
os.kill(os.getpid(), 1)
signal.raise_signal(1)
print(signal.getsignal(10), signal.getsignal(15) == signal.SIG_IGN, faulthandler.unregister(12), flush=True)
os.kill(os.getpid(), 10)
print("not ended")
"""


@pytest.mark.parametrize("ignored", but_everyday(["", "HUP USR1 USR2 TERM"], {"HUP USR1 USR2 TERM"}))
def test_what_imports_have_said_of_signals_counts_whatever_the_launcher_has_said(baked: Baked, ignored: str) -> None:
    baked.module("plant", HANDLES)
    script = baked.script(SIGNALLED)
    assert "`os.kill(os.getpid(), 1)`: " in reach(baked.bake(script))
    before = ("bash", "-c", f"trap '' {ignored}; exec \"$@\"", "bash") if ignored else ()
    outcome, plain = baked.start(script, before=before), run([*before, baked.python, script], baked.environment(), 60)
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout)
    assert plain.status == -10 and ("True True" in plain.stdout) == bool(ignored), plain


def test_imports_behind_which_the_maker_fails_are_said(baked: Baked) -> None:
    baked.module("plant", "import dataclasses\ndataclasses.dataclass = lambda kind: kind")
    outcome = baked.try_to_bake(baked.script("import plant"))
    assert outcome.status == 1 and "ours fail behind them: TypeError" in outcome.stderr, outcome
    assert "Traceback" not in outcome.stderr


def test_a_program_that_ends_at_once_is_prepared_up_to_there(baked: Baked) -> None:
    script = baked.script("import json, os; os._exit(0)")
    assert "ends with status 0" in reach(baked.bake(script))
    assert baked.start_restored(script).status == 0


NUMBERS = ["len(os.sched_getaffinity(0))", "os.cpu_count()"]


@pytest.mark.parametrize("text", but_everyday(NUMBERS, {NUMBERS[0]}))
def test_the_number_of_processors_is_in_the_key(baked: Baked, text: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")
    baked.module("plant", f"import os\nVALUE = {text}")
    script = baked.script("import plant\nprint(plant.VALUE)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout
    one = str(min(os.sched_getaffinity(0)))
    baked.start_fresh("another number of processors", script, before=("taskset", "-c", one))


def test_all_variables_are_in_the_key_where_an_import_looks_at_all(baked: Baked) -> None:
    """But those that launchers and shells give to each process, of which it keeps nothing."""
    baked.module("plant", "import os\nVALUE = [name for name, _ in os.environ.items() if name.startswith('PLANTED_')]")
    script = baked.script("import plant\nprint(plant.VALUE)")
    assert "it prints" in reach(baked.bake(script, PLANTED_A="1"))
    of_a_rank = {
        "PMI_RANK": "3",
        "MPI_LOCALNRANKS": "4",
        "SLURM_NODEID": "7",
        "OLDPWD": "/x",
        "MPIIMPORT_CACHE": "auto",
    }
    assert baked.start_restored(script, PLANTED_A="1", **of_a_rank).stdout == "['PLANTED_A']\n"
    another = baked.start_fresh("made without such a variable: PLANTED_B", script, PLANTED_A="1", PLANTED_B="2")
    assert another.stdout == "['PLANTED_A', 'PLANTED_B']\n"
    baked.start_fresh("another value of the variable PLANTED_A", script, PLANTED_A="2")
    assert baked.start_fresh("another value of the variable PLANTED_A", script).stdout == "[]\n"


def test_a_name_in_the_current_directory_is_in_the_key(baked: Baked, tmp_path: Path) -> None:
    baked.module("plant", "import os\nVALUE = os.path.exists('not_made')")
    script = baked.script(SHOWN)
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "False\n"
    (tmp_path / "work" / "not_made").touch()
    assert baked.start_fresh("imports would find not_made", script).stdout == "True\n"
    assert "plant asks for the current directory" in reach(baked.bake(script))


def test_a_library_that_is_looked_for_is_in_an_image(baked: Baked) -> None:
    """`ctypes.util.find_library` starts ldconfig, which prints a file that is in the key."""
    baked.module("plant", "import ctypes.util\nVALUE = ctypes.util.find_library('dl')")
    script = baked.script("import plant\nprint(plant.VALUE)")
    assert "it prints" in reach(baked.bake(script))
    assert b"/etc/ld.so.cache" in baked.image.read_bytes()
    assert baked.start_restored(script) == baked.plain(script)


def test_what_a_module_changes_while_it_is_imported_ends_no_image(baked: Baked) -> None:
    """NumPy has done so with OPENBLAS_MAIN_FREE."""
    script = lay_out(
        baked, WHILE, early="import os\nos.environ['FOR_A_WHILE'] = '1'\nimport part\ndel os.environ['FOR_A_WHILE']"
    )
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    baked.module("late", "VALUE = 'another'")
    assert baked.start_fresh("late.py", script).stdout == "1 another None\n"
