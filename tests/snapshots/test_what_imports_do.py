"""What imports do that is no process's own is done in each process that starts from a snapshot, as plainly."""

import os
import shutil
import textwrap
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import but_everyday

from .conftest import Baked, reach

pytestmark = pytest.mark.usefixtures("installed")

SHOWN = "import json\nimport plant\nprint(plant.VALUE)"

KEEPS = """
import __main__, importlib, multiprocessing, sys
found = [__main__, sys.modules["__main__"], sys.modules.get("__main__"), importlib.import_module("__main__")]
found += [module for name, module in sys.modules.items() if name in ("__main__", "__mp_main__")]
sys.modules["__main__"].given = 5
"""
LOOKS_AT_MAIN = """
import plant, gc, sys
value = [4]
print([module.value for module in plant.found], {id(module) for module in plant.found} == {id(sys.modules[__name__])})
print([each is globals() for each in gc.get_referrers(value)])
print(given, sorted(vars(plant.found[0])))
"""


def test_the_programs_module_is_the_one_that_imports_have_kept(baked: Baked) -> None:
    baked.module("plant", KEEPS)
    script = baked.script(LOOKS_AT_MAIN)
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout


def test_who_looks_no_further_than_at_who_imports_it_is_in_the_image(baked: Baked) -> None:
    baked.module(
        "part",
        "import sys\nframe = sys._getframe()\nwhile frame.f_globals['__name__'] != 'plant':\n"
        "    frame = frame.f_back\nNAME = frame.f_code.co_filename\ndel frame",
    )
    baked.module("plant", "import part")
    script = baked.script("import plant\nprint(plant.part.NAME)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout


def test_a_warning_that_a_module_lets_nobody_see_is_none_in_the_audit(baked: Baked) -> None:
    baked.module("part", "import warnings\ndef old(): warnings.warn('old', FutureWarning, stacklevel=2)")
    baked.module(
        "plant",
        "import part, warnings\nwith warnings.catch_warnings():\n"
        "    warnings.filterwarnings('ignore', category=FutureWarning, module='plant')\n    part.old()\nVALUE = 1",
    )
    script = baked.script(SHOWN)
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
FINDS = {
    "modules": "import pkgutil\nVALUE = [x.name for x in pkgutil.iter_modules() if x.name[:5] == 'plug_']",
    "path": "import pkgutil, sys\nVALUE = [x.name for x in pkgutil.iter_modules(sys.path) if x.name[:5] == 'plug_']",
    "finders": "import pkgutil\nVALUE = len(list(pkgutil.iter_importers()))",
    "finder": "from importlib.machinery import PathFinder\nVALUE = PathFinder.find_spec('plug_b') is None",
    "import": "try: import plug_b\nexcept ImportError: VALUE = 'none'\nelse: VALUE = 'one'",
    "parts": "import pkgutil\nVALUE = len(pkgutil.extend_path(['/x'], 'plug_d'))",
    "listing": "import os, sys\nVALUE = sorted(os.listdir(sys.path[0]))",
    "first entry of the search path": "import sys\nVALUE = sys.path[0]",
    "search path": "import sys\nVALUE = ['/x'] + sys.path",
    "finders of the search path": "import sys\nVALUE = sorted(sys.path_importer_cache)",
}


@pytest.mark.parametrize("name", but_everyday(FINDS, ("modules", "finder")))
def test_what_lies_beside_the_script_is_found(baked: Baked, name: str) -> None:
    baked.module("plant", FINDS[name])
    script = baked.script(SHOWN)
    baked.script("", "plug_a.py")
    (Path(script).parent / "plug_d").mkdir()
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    baked.script("", "plug_b.py")
    (Path(script).parent / "plug_d" / "__init__.py").touch()
    assert baked.start(script).stdout == baked.plain(script).stdout


def test_a_copy_of_what_reads_times_is_in_a_snapshot(baked: Baked) -> None:
    """astropy's knows the names of the time zone, and compares them before it reads a time."""
    package = baked.modules / "astropy" / "extern"
    package.mkdir(parents=True)
    shutil.copy(Path(os.__file__).with_name("_strptime.py"), package)
    script = baked.script("import astropy.extern._strptime as s\nprint(s._strptime_time('12 UTC', '%H %Z')[:4])")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script) == baked.plain(script)


def test_variables_that_imports_set_are_set(baked: Baked) -> None:
    baked.module("plant", "import os\nos.environ['PLANTED'] = 'by an import'\nos.environ.pop('GONE', None)")
    script = baked.script("import plant, os, subprocess\nprint(os.environ.get('PLANTED'), os.environ.get('GONE'))")
    baked.bake(script, GONE="1")
    assert baked.start(script, GONE="1").stdout == baked.plain(script, GONE="1").stdout


def test_entries_that_imports_put_at_the_end_of_the_search_path_are_there(baked: Baked) -> None:
    baked.module("plant", "import sys\nif '/usr/share' not in sys.path: sys.path.append('/usr/share')")
    script = baked.script("import plant, sys\nprint(sys.path)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout


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


def test_signal_handlers_of_imports_are_there(baked: Baked) -> None:
    baked.module("plant", "import signal\nsignal.signal(10, lambda *given: print('handled'))")
    script = baked.script("import plant, os, signal\nos.kill(os.getpid(), 10)\nsignal.raise_signal(10)")
    baked.bake(script)
    assert baked.start_restored(script).stdout == baked.plain(script).stdout == "handled\nhandled\n"


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


LAZY = """
import importlib.util, sys
spec = importlib.util.find_spec("waiting")
loader = importlib.util.LazyLoader(spec.loader)
spec.loader = loader
waiting = importlib.util.module_from_spec(spec)
sys.modules["waiting"] = waiting
loader.exec_module(waiting)
"""


def test_a_module_that_waits_for_its_first_use_is_executed_then(baked: Baked) -> None:
    baked.module("waiting", "import os\nVALUE = os.environ['SET_BY_THE_PROGRAM']")
    baked.module("plant", LAZY)
    script = baked.script(
        "import plant, json\nimport os\nprint(type(plant.waiting).__name__)\n"
        "os.environ['SET_BY_THE_PROGRAM'] = '1'\nprint(plant.waiting.VALUE)"
    )
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout == "_LazyModule\n1\n"


def test_a_proxy_is_not_asked_by_the_audit(baked: Baked) -> None:
    """It imports when it is asked for anything: importlib_metadata has such."""
    text = """
        class Proxy:
            def __getattribute__(self, name):
                import os
                globals().update(value=os.urandom(8))
                return getattr(os, name)
            def __call__(self): pass
        value = 1
        proxies = [Proxy(), {Proxy()}, Proxy]
        """
    baked.module("plant", textwrap.dedent(text))
    script = baked.script("import plant\nprint(plant.value, len(plant.proxies[0].urandom(2)), plant.value == 1)")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout == "1 2 False\n"


def test_imports_behind_which_the_maker_fails_are_said(baked: Baked) -> None:
    baked.module("plant", "import dataclasses\ndataclasses.dataclass = lambda kind: kind")
    outcome = baked.try_to_bake(baked.script("import plant"))
    assert outcome.status == 1 and "ours fail behind them: TypeError" in outcome.stderr, outcome
    assert "Traceback" not in outcome.stderr


def test_a_program_that_ends_at_once_is_prepared_up_to_there(baked: Baked) -> None:
    script = baked.script("import json, os; os._exit(0)")
    assert "ends with status 0" in reach(baked.bake(script))
    assert baked.start_restored(script).status == 0


def test_exit_handlers_of_imports_run(baked: Baked) -> None:
    baked.module("plant", "import atexit\natexit.register(print, 'end')")
    script = baked.script("import plant\nprint('begin')")
    baked.bake(script)
    assert baked.start_restored(script).stdout == "begin\nend\n"


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


def test_an_order_that_follows_addresses_is_any_order(baked: Baked) -> None:
    """Plainly each process has another one: that of a set of classes."""
    baked.module("plant", "VALUE = [kind.__name__ for kind in {type(f'K{n}', (), {}) for n in range(99)}]")
    script = baked.script("import plant\nprint(sorted(plant.VALUE))")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout
