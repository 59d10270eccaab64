"""Modules that keep what belongs to one process are left out of an image, refused, or made new: never shared."""

import os
import re
import shutil
import textwrap
from pathlib import Path

import pytest

from lab.ranks import Outcome, run
from tests.conftest import but_everyday

from .conftest import Warm

# A module of Python each; VALUE is what it keeps. What is not left out is answered by the key or a remedy.
LEFT_OUT = {
    "pid": "import os\nVALUE = os.getpid()",
    "pid in a closure": "import os\ndef make(number=os.getpid()): return lambda: number\nVALUE = 1; keep = make()",
    "parent": "import os\nVALUE = os.getppid()",
    "time": "import time\nVALUE = time.time()",
    "clock": "import time\nVALUE = time.perf_counter()",
    "entropy": "import os\nVALUE = os.urandom(8)",
    "uuid": "import uuid\nVALUE = uuid.uuid4().hex",
    "secret": "import secrets\nVALUE = secrets.token_hex()",
    "two generators, one hidden": "import random\nVALUE = random.Random()\nhidden = iter([random.Random()])",
    "generator's frame": "import random\ndef g(r):\n    while True: yield r.random()\nVALUE = g(random.Random())",
    "directory": "import os\nVALUE = os.getcwd()",
    "network": "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\nVALUE = s.getsockname()\ns.close()",
    "host": "import socket\nVALUE = socket.gethostname()",
    "terminal": "import os\nVALUE = os.isatty(1)",
    "which processors": "import os\nVALUE = sorted(os.sched_getaffinity(0))",
    "seed by rank": "import os, random\nVALUE = random.Random(int(os.environ.get('PMI_RANK', '3')))",
    "shuffled": "import random\nVALUE = random.sample(range(20), 20)",
    "drawn": "import random\nVALUE = random.choice([1, 1])",
    "drawn from its own": "import random\nown = random.Random()\nVALUE = own.choice([1, 1])",
    "drawn by NumPy": "import numpy\nVALUE = int(numpy.random.rand() * 0)",
    "OpenSSL's generator": "import ssl\nVALUE = ssl.RAND_bytes(8)",
    "node": "import uuid\nVALUE = uuid.getnode()",
    "sequence number": "import uuid\nVALUE = uuid.uuid1()",
    "host by platform": "import platform\nVALUE = platform.node()",
    "host among others": "import os\nVALUE = tuple(os.uname())",
    "key of children": "import multiprocessing\nVALUE = multiprocessing.current_process().authkey.hex()",
    "name of a temporary file": "import tempfile\nVALUE = next(tempfile._get_candidate_names())",
    "user": "import getpass\nVALUE = getpass.getuser()",
    "window": "import shutil\nVALUE = shutil.get_terminal_size()",
    "directory of temporary files": "import tempfile\nVALUE = tempfile.gettempdir()",
    "limits": "import resource\nVALUE = resource.getrlimit(resource.RLIMIT_NOFILE)",
    "input": "import sys\nVALUE = sys.stdin.read()",
    "output": "print('imported')\nVALUE = 1",
    "file": "open('made', 'w').close()\nVALUE = 1",
    "child": "import subprocess\nVALUE = subprocess.check_output(['echo', 'x'])",
    "umask": "import os\nVALUE = os.umask(0o22)",
    "timer": "import signal\nVALUE = signal.setitimer(signal.ITIMER_REAL, 1000)",
    "all variables": "import os\nVALUE = dict(os.environ)",
    "how many variables": "import os\nVALUE = len(os.environ)",
    "variables of launchers": "import os\nVALUE = [name for name in os.environ if name.startswith('SLURM_')]",
    "own mappings": "VALUE = open('/proc/self/maps').read()",
    "temporary directory": "import tempfile\nVALUE = tempfile.mkdtemp()",
    "finders of the search path": "import sys\nVALUE = sorted(sys.path_importer_cache)",
    "outermost file": "import inspect\nVALUE = inspect.stack()[-1].filename",
    "files below": "import traceback\nVALUE = [each.filename for each in traceback.extract_stack()]",
    "whose import it is": "import sys\nframe = sys._getframe().f_back\n"
    "while frame and 'importlib' in frame.f_code.co_filename: frame = frame.f_back\n"
    "VALUE = frame.f_globals['__name__'] if frame else None",
    "frame by its number": "import sys\nVALUE = []\ntry:\n"
    "    for number in range(99): VALUE.append(sys._getframe(number).f_code.co_filename)\nexcept ValueError: pass",
    "warning of who imports": "import warnings\nVALUE = warnings.warn('old', FutureWarning, stacklevel=2)",
    "warning for the script": "import warnings\nwarnings.warn('old', DeprecationWarning, 2)\nVALUE = 1",
    "frame of an exception": "try: 1 / 0\nexcept ArithmeticError as exc: frame = exc.__traceback__.tb_frame\n"
    "while frame.f_back: frame = frame.f_back\nVALUE = sorted(frame.f_globals)",
    "kind of a stream": "import os, stat\nVALUE = stat.S_ISREG(os.fstat(1).st_mode)",
    "kinds of all streams": "import os\nVALUE = [os.fstat(number).st_mode for number in range(3)]",
    "kind of a stream by its name": "import os\nVALUE = os.stat('/dev/stdin').st_mode",
    "place in a stream": "import sys\nVALUE = sys.stdin.seekable()",
    "stream for another": "import os\nos.dup2(1, 2)\nVALUE = 1",
    "whether input waits": "import select\nVALUE = select.select([0], [], [], 0)",
    "time of a file": "import os\nos.utime(__file__)\nVALUE = 1",
    "removed directory": "import os\ntry: os.rmdir('/none')\nexcept OSError: VALUE = 1",
    "kind of scheduling": "import os\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\nVALUE = 1",
    "call by its number": "import ctypes\nVALUE = ctypes.CDLL(None).syscall(252, 1, 0)",
    "who may do what": "import ctypes\nVALUE = ctypes.CDLL(None).capget(ctypes.create_string_buffer(8), None)",
    "profile function": "import sys\nVALUE = []\nsys.setprofile(lambda *given: VALUE.append(given[1]))",
    "trace function": "import sys\nVALUE = []\nsys.settrace(lambda *given: VALUE.append(given[1]))",
    "priority": "import os\nVALUE = os.getpriority(os.PRIO_PROCESS, 0)",
    "what is done with a signal": "import signal\nVALUE = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN",
    "what was done with a signal": "import signal\nVALUE = signal.signal(signal.SIGUSR1, signal.SIG_DFL)",
    "ignored signals of C": "import ctypes\nVALUE = ctypes.create_string_buffer(200)\n"
    "ctypes.CDLL(None).sigaction(1, None, VALUE)",
    "first entry of the search path": "import sys\nVALUE = sys.path[0]",
    "search path": "import sys\nVALUE = ['/x'] + sys.path",
}
REFUSED = {
    "descriptor": ("VALUE = open('/dev/null')", "left a file open"),
    "socket": ("import socket\nVALUE = socket.socket()", "left a file open"),
    "closed stream": ("import sys\nsys.stdin.close()", "sys.stdin was closed"),
    "stream": ("import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer)", "sys.stdout was replaced"),
    "shared memory": ("import mmap\nVALUE = mmap.mmap(-1, 4096)", "memory is shared"),
    "first in the search path": ("import sys\nsys.path.insert(0, '/x')", "changes how modules are found"),
    "blocked signal": ("import signal\nsignal.pthread_sigmask(0, [10])", "blocked a signal"),
    "marked memory": (
        "import mmap\nVALUE = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)\nVALUE.madvise(mmap.MADV_DONTFORK)",
        "",
    ),
}
SHOWN = "import plant, json\nprint(plant.VALUE)"
EVERYDAY = {"pid in a closure", "clock", "entropy", "generator's frame", "two generators, one hidden"}
EVERYDAY |= {
    "host by platform",
    "seed by rank",
    "shuffled",
    "OpenSSL's generator",
    "file",
    "child",
    "timer",
    "own mappings",
    "variables of launchers",
    "outermost file",
    "frame by its number",
    "profile function",
    "warning for the script",
    "kind of a stream",
    "stream for another",
    "call by its number",
    "first entry of the search path",
}


@pytest.mark.parametrize("name", but_everyday(LEFT_OUT, EVERYDAY))
def test_a_module_that_keeps_what_is_its_processs_own_is_left_out(warm: Warm, name: str) -> None:
    warm.module("plant", LEFT_OUT[name])
    said = warm.bake(warm.script(SHOWN))
    assert "left out plant: " in said, said
    assert warm.start_warm(warm.script(SHOWN)).status == 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_other_process_can_have_is_left_out_or_refused_by_name(warm: Warm, name: str) -> None:
    text, why = REFUSED[name]
    warm.module("plant", text)
    outcome = warm.try_to_bake(warm.script("import plant, json"))
    if "left out plant: " not in outcome.stdout:
        assert outcome.status == 1 and why and why in outcome.stderr, outcome
        assert not warm.image.exists()


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


def test_the_programs_module_is_the_one_that_imports_have_kept(warm: Warm) -> None:
    warm.module("plant", KEEPS)
    script = warm.script(LOOKS_AT_MAIN)
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout


def test_who_looks_no_further_than_at_who_imports_it_is_in_the_image(warm: Warm) -> None:
    warm.module(
        "part",
        "import sys\nframe = sys._getframe()\nwhile frame.f_globals['__name__'] != 'plant':\n"
        "    frame = frame.f_back\nNAME = frame.f_code.co_filename\ndel frame",
    )
    warm.module("plant", "import part")
    script = warm.script("import plant\nprint(plant.part.NAME)")
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout


def test_a_warning_that_a_module_lets_nobody_see_is_none_in_the_audit(warm: Warm) -> None:
    warm.module("part", "import warnings\ndef old(): warnings.warn('old', FutureWarning, stacklevel=2)")
    warm.module(
        "plant",
        "import part, warnings\nwith warnings.catch_warnings():\n"
        "    warnings.filterwarnings('ignore', category=FutureWarning, module='plant')\n    part.old()\nVALUE = 1",
    )
    script = warm.script(SHOWN)
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script) == warm.plain(script)


def test_what_is_found_by_a_search_path_that_is_another_for_a_while_is_left_out(warm: Warm, tmp_path: Path) -> None:
    """OpenCV's package is such a one."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part.py").write_text("VALUE = 'other'")
    warm.module("plant", f"import sys\nsys.path.insert(0, '{tmp_path}/other')\nimport part\nsys.path.pop(0)")
    script = warm.script("import json, plant\nprint(plant.part.VALUE)")
    said = warm.bake(script)
    assert "left out plant: it looks at the search path" in said
    assert "left out for what they need: 1 modules" in said
    assert warm.start_warm(script) == warm.plain(script)


# Ways to what lies beside the script: a module plug_a, a directory plug_d.
FINDS = {
    "modules": "import pkgutil\nVALUE = [x.name for x in pkgutil.iter_modules() if x.name[:5] == 'plug_']",
    "path": "import pkgutil, sys\nVALUE = [x.name for x in pkgutil.iter_modules(sys.path) if x.name[:5] == 'plug_']",
    "finders": "import pkgutil\nVALUE = len(list(pkgutil.iter_importers()))",
    "finder": "from importlib.machinery import PathFinder\nVALUE = PathFinder.find_spec('plug_a') is None",
    "parts": "import pkgutil\nVALUE = len(pkgutil.extend_path(['/x'], 'plug_d'))",
}


@pytest.mark.parametrize("name", but_everyday(FINDS, ("modules", "finder")))
def test_what_lies_beside_the_script_is_found(warm: Warm, name: str) -> None:
    warm.module("plant", FINDS[name])
    script = warm.script(SHOWN)
    warm.script("", "plug_a.py")
    (Path(script).parent / "plug_d").mkdir()
    assert "left out plant: it looks at the search path" in warm.bake(script)
    assert warm.start_warm(script) == warm.plain(script)


@pytest.mark.parametrize("seed", ["3", "int(os.environ.get('PMI_RANK', '3'))"])
@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_a_seed_that_an_import_has_set_is_not_lost(warm: Warm, module: str, seed: str) -> None:
    warm.module("plant", f"import os, {module}\n{module}.seed({seed})")
    outcome = warm.try_to_bake(warm.script("import plant, json"))
    assert outcome.status == 1 and "has seeded the generator" in outcome.stderr
    assert not warm.image.exists()


def test_a_thread_is_left_out(warm: Warm) -> None:
    warm.module("plant", "import threading, time\nthreading.Thread(target=time.sleep, args=(1,), daemon=True).start()")
    assert "left out plant: " in warm.bake(warm.script("import plant, json"))


def test_what_needs_a_module_that_is_left_out_is_left_out_too(warm: Warm) -> None:
    warm.module("plant", "import os\nVALUE = os.getpid()")
    warm.module("user", "try:\n    import plant\nexcept ImportError:\n    plant = None")
    script = warm.script("import os, user, json\nprint(user.plant.VALUE == os.getpid())")
    said = warm.bake(script)
    assert "left out plant: " in said and "left out for what they need: 1 modules" in said
    assert warm.start_warm(script).stdout == "True\n"


def test_what_a_module_that_is_left_out_has_set_in_another_leaves_that_one_in(warm: Warm) -> None:
    """Each process imports the first one, which sets it there."""
    warm.module("other", "kept = None")
    warm.module("plant", "import os, other, tempfile\nother.kept = os.urandom(8).hex(), tempfile.gettempdir()")
    script = warm.script("import plant, other, sys, tempfile\nprint(other.kept, tempfile.tempdir)")
    said = warm.bake(script)
    assert "left out plant: " in said and "left out other" not in said and "left out tempfile" not in said, said
    assert "left out for what they need" not in said, said
    outcomes = [warm.start_warm(script, TMPDIR=directory).stdout for directory in ("/tmp", "/dev/shm")]
    assert outcomes[0].split()[0] != outcomes[1].split()[0]
    assert [outcome.split()[1:] for outcome in outcomes] == [["'/tmp')", "/tmp"], ["'/dev/shm')", "/dev/shm"]]


def test_variables_that_imports_set_are_set(warm: Warm) -> None:
    warm.module("plant", "import os\nos.environ['PLANTED'] = 'by an import'\nos.environ.pop('GONE', None)")
    script = warm.script("import plant, os, subprocess\nprint(os.environ.get('PLANTED'), os.environ.get('GONE'))")
    warm.bake(script, GONE="1")
    assert warm.start(script, GONE="1").stdout == warm.plain(script, GONE="1").stdout


def test_entries_that_imports_put_at_the_end_of_the_search_path_are_there(warm: Warm) -> None:
    warm.module("plant", "import sys\nif '/usr/share' not in sys.path: sys.path.append('/usr/share')")
    script = warm.script("import plant, sys\nprint(sys.path)")
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout


def test_an_import_that_asks_whether_the_search_path_has_an_entry_is_answered_for_each_script(
    warm: Warm, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    warm.module("plant", f"import sys\nVALUE = {str(other)!r} in sys.path")
    script = warm.script("import plant\nprint(plant.VALUE)")
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == "False\n"
    moved = str(shutil.copy(script, other))
    assert warm.start_fresh(f"imports looked whether the search path has {other}", moved).stdout == "True\n"


def test_signal_handlers_of_imports_are_there(warm: Warm) -> None:
    warm.module("plant", "import signal\nsignal.signal(10, lambda *given: print('handled'))")
    script = warm.script("import plant, os, signal\nos.kill(os.getpid(), 10)\nsignal.raise_signal(10)")
    warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "handled\nhandled\n"


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
def test_what_imports_have_said_of_signals_counts_whatever_the_launcher_has_said(warm: Warm, ignored: str) -> None:
    warm.module("plant", HANDLES)
    script = warm.script(SIGNALLED)
    assert "left out" not in warm.bake(script)
    before = ("bash", "-c", f"trap '' {ignored}; exec \"$@\"", "bash") if ignored else ()
    outcome, plain = warm.start(script, before=before), run([*before, warm.python, script], warm.environment(), 60)
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


def test_a_module_that_waits_for_its_first_use_is_executed_then(warm: Warm) -> None:
    warm.module("waiting", "import os\nVALUE = os.environ['SET_BY_THE_PROGRAM']")
    warm.module("plant", LAZY)
    script = warm.script(
        "import plant, json\nimport os\nprint(type(plant.waiting).__name__)\n"
        "os.environ['SET_BY_THE_PROGRAM'] = '1'\nprint(plant.waiting.VALUE)"
    )
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "_LazyModule\n1\n"


def test_a_proxy_is_not_asked_by_the_audit(warm: Warm) -> None:
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
    warm.module("plant", textwrap.dedent(text))
    script = warm.script("import plant\nprint(plant.value, len(plant.proxies[0].urandom(2)), plant.value == 1)")
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout == "1 2 False\n"


AND_PLANT = re.compile("left out plant: |left out for what they need: ")
OTHER_VALUES = "import third\nthird.VALUES[:] = 3, 4"
CHANGES = {
    "context": (
        "import decimal\ndecimal.getcontext().prec = 50",
        "import decimal\nVALUE = str(decimal.Decimal(1) / 3)",
    ),
    "function": ("import json\njson.dumps = lambda given: 'x'", "import json\nVALUE = json.dumps(1)"),
    "filter": (
        "import warnings\nwarnings.simplefilter('error')",
        "import warnings\ntry: warnings.warn('old')\nexcept UserWarning: VALUE = 1\nelse: VALUE = 2",
    ),
    "module": (
        "import json, sys\nsys.modules['absent'] = json",
        "try: import absent\nexcept ImportError: absent = None\nVALUE = absent and absent.__name__",
    ),
    "base": (
        "import socket\nclass Patched(socket.socket): pass\nsocket.socket = Patched",
        "import socket\nclass Mine(socket.socket): pass\nVALUE = Mine.__base__.__name__",
    ),
    "list": (OTHER_VALUES, "import third\nVALUE = [*third.VALUES]"),
    "set in a dictionary": (OTHER_VALUES, "import third\nVALUE = {'a': {*third.VALUES}}"),
    "default": (
        OTHER_VALUES,
        "import third\ndef f(a=sum(third.VALUES)): return a\nVALUE = f",
    ),
    "closure": (
        OTHER_VALUES,
        "import third\ndef make(kept): return lambda: kept\nVALUE = make(sum(third.VALUES))",
    ),
    "attribute of a class": (
        OTHER_VALUES,
        "import third\nclass Mine: kept = sum(third.VALUES)\ndef VALUE(): return Mine.kept",
    ),
    "attribute of an object": (
        OTHER_VALUES,
        "import third\nclass Mine:\n    def __init__(self): self.kept = sum(third.VALUES)\n"
        "kept = Mine()\ndef VALUE(): return kept.kept",
    ),
    "slot": (
        OTHER_VALUES,
        "import third\nclass Mine: __slots__ = ('kept',)\n"
        "kept = Mine(); kept.kept = sum(third.VALUES)\ndef VALUE(): return kept.kept",
    ),
    "decimal": (
        "import decimal\ndecimal.getcontext().prec = 50",
        "import decimal\nVALUE = decimal.Decimal(1) / 3",
    ),
    "body of a function": (
        OTHER_VALUES,
        "import third\nexec('def VALUE(): return 7' if third.VALUES[0] == 3 else 'def VALUE(): return 8')",
    ),
    "attribute of a dictionary": (
        OTHER_VALUES,
        "import third\nclass Mine(dict): pass\nkept = Mine()\nkept.kept = [*third.VALUES]\n"
        "def VALUE(): return kept.kept",
    ),
    "derived from text": (
        OTHER_VALUES,
        "import third\nclass Named(str): pass\nVALUE = Named(third.VALUES)",
    ),
    "function of another module": (
        "import third\nthird.function = lambda: 8",
        "from third import function as VALUE",
    ),
}


def with_one_left_out(warm: Warm, name: str, left_out: str, plant: str, shown: str) -> str:
    """A script that imports a module which is left out, then ``plant``, and prints what is ``shown``."""
    warm.module("third", "VALUES = [1, 2]\ndef function(): return 7")
    warm.module(name, "import os\nPID = os.getpid()\n" + left_out)
    warm.module("plant", plant)
    return warm.script(f"import csv, third\nimport {name}\nimport plant\nimport os, sys\nprint({shown})")


def from_what_is_left(warm: Warm, name: str, script: str) -> tuple[Outcome, Outcome]:
    """Make an image without a module and ``plant``; return how the script ends from it, and plainly."""
    said = warm.bake(script)
    assert f"left out {name}: " in said and AND_PLANT.search(said), said
    return warm.start_warm(script), warm.plain(script)


@pytest.mark.parametrize("name", but_everyday(CHANGES, {"context", "base"}))
def test_what_is_another_module_behind_one_that_is_left_out_is_left_out_too(warm: Warm, name: str) -> None:
    shown = "plant.VALUE() if callable(plant.VALUE) else plant.VALUE"
    script = with_one_left_out(warm, "changing", *CHANGES[name], shown)
    started, plain = from_what_is_left(warm, "changing", script)
    assert started.stdout == plain.stdout


# What a module keeps in which way. FIRST and SECOND are two of a class; CHOSEN is one of them, by what another has set.
KEPT = {
    "object of a class in a function": (
        "def make():\n    class It: value = third.VALUES[0]\n    return It()\nIT = make()",
        "plant.IT.value",
    ),
    "failure of a class in a function": (
        "def make():\n    class It(Exception): value = third.VALUES[0]\n    return It()\nIT = make()",
        "plant.IT.value",
    ),
    "class of a class": (
        "def make():\n    class Meta(type): value = third.VALUES[0]\n    return Meta\nclass It(metaclass=make()): pass",
        "plant.It.value",
    ),
    "base that is named nowhere": (
        "import collections\nNAMES = ['a', 'b'] if CHOSEN is FIRST else ['b', 'a']\n"
        "class It(collections.namedtuple('It', NAMES)): pass\ndel NAMES",
        "plant.It(1, 2).a",
    ),
    "annotation": ("def it(x: CHOSEN): pass", "plant.it.__annotations__['x'].name"),
    "text of a function": ("def it(): pass\nit.__doc__ = CHOSEN.name", "plant.it.__doc__"),
    "name of a function": ("def it(): pass\nit.__name__ = CHOSEN.name", "plant.it.__name__"),
    "name of a class": ("IT = type(CHOSEN.name, (), {})", "plant.IT.__name__"),
    "code": ("IT = compile(repr(CHOSEN.name), '', 'eval')", "eval(plant.IT)"),
    "weak reference": ("import weakref\nIT = weakref.ref(CHOSEN)", "plant.IT().name"),
    "weak set": ("import weakref\nIT = weakref.WeakSet([CHOSEN])", "[each.name for each in plant.IT]"),
    "weak set of numbers": (
        "import weakref\nFIRST.name, SECOND.name = 1, 2\nIT = weakref.WeakSet([CHOSEN])",
        "[each.name for each in plant.IT]",
    ),
    "slice": ("import itertools\nIT = itertools.islice(range(9), third.VALUES[0], None)", "next(plant.IT)"),
    "weak mapping": ("import weakref\nIT = weakref.WeakValueDictionary(it=CHOSEN)", "plant.IT['it'].name"),
    "factory of a field": (
        "import dataclasses\n@dataclasses.dataclass\n"
        "class It: it: object = dataclasses.field(default_factory=list if CHOSEN is FIRST else dict)",
        "plant.It().it",
    ),
    "choice of a hint": ("import typing\nIT = typing.Literal[CHOSEN.name]", "plant.IT.__args__"),
    "class of a hint": ("import typing\nIT = list[int if CHOSEN is FIRST else str]", "plant.IT.__args__"),
    "bound": ("import typing\nIT = typing.TypeVar('IT', bound=int if CHOSEN is FIRST else str)", "plant.IT.__bound__"),
    "base of a new type": (
        "import typing\nIT = typing.NewType('IT', int if CHOSEN is FIRST else str)",
        "plant.IT.__supertype__",
    ),
    "zone": (
        "import datetime\nZONE = datetime.timezone(datetime.timedelta(hours=third.VALUES[0]))\n"
        "IT = datetime.datetime(2000, 1, 1, tzinfo=ZONE)\ndel ZONE",
        "plant.IT.utcoffset()",
    ),
    "result of a function of C": (
        "import ctypes\nIT = ctypes.CDLL(None)\nIT.labs.restype = ctypes.c_int if CHOSEN is FIRST else ctypes.c_long",
        "plant.IT.labs.restype",
    ),
    "enumeration": ("IT = enumerate('ab', third.VALUES[0])", "next(plant.IT)"),
    "view": ("IT = memoryview(b'abcdef')[third.VALUES[0]:]", "plant.IT.tobytes()"),
    "namespace": (
        "import types\nA, B = types.SimpleNamespace(), types.SimpleNamespace(it=1)\nIT = A if CHOSEN is FIRST else B",
        "plant.IT",
    ),
    "lock": (
        "import threading\nIT = threading.RLock()\nCHOSEN is FIRST or IT.acquire()",
        "'owner=0' in repr(plant.IT)",
    ),
}
TWO = (
    "import third\nclass Named:\n    def __init__(self, name): self.name = name\n"
    "FIRST, SECOND = Named('first'), Named('second')\nCHOSEN = FIRST if third.VALUES[0] == 1 else SECOND\n"
)


@pytest.mark.parametrize("name", but_everyday(KEPT, {"weak reference", "annotation", "class of a hint"}))
def test_every_kind_of_value_is_compared(warm: Warm, name: str) -> None:
    kept, shown = KEPT[name]
    script = with_one_left_out(warm, "changing", OTHER_VALUES, f"{TWO}{kept}\ndel CHOSEN", shown)
    started, plain = from_what_is_left(warm, "changing", script)
    assert started.stdout == plain.stdout


# What a module that is left out sees, and what a later one changes.
SEEN_BEFORE = {
    "precision": (
        "import decimal\nVALUE = decimal.Decimal(1) / 3",
        "import decimal\ndecimal.getcontext().prec = 6",
    ),
    "modules": ("import sys\nVALUE = 'plant' in sys.modules", "VALUE = 1"),
    "attribute": ("import third\nVALUE = third.VALUES[0]", OTHER_VALUES),
    "function": ("import third\nVALUE = third.function()", "import third\nthird.function = lambda: 8"),
    "variable": (
        "import os\nVALUE = os.environ.get('PLANTED')",
        "import os\nos.environ['PLANTED'] = 'x'",
    ),
    "warnings": (
        "import warnings\nwarnings.warn('heard')\nVALUE = 1",
        "import warnings\nwarnings.filterwarnings('ignore')",
    ),
    "failure": (
        "import sys\nVALUE = sys.getrecursionlimit()\nif VALUE == 500: raise ImportError",
        "import sys\nsys.setrecursionlimit(500)",
    ),
}


@pytest.mark.parametrize("name", but_everyday(SEEN_BEFORE, {"precision", "modules", "warnings"}))
def test_what_comes_behind_one_that_is_left_out_is_not_seen_by_it(warm: Warm, name: str) -> None:
    script = with_one_left_out(warm, "seeing", *SEEN_BEFORE[name], "seeing.VALUE")
    started, plain = from_what_is_left(warm, "seeing", script)
    assert (started.stdout, "heard" in started.stderr) == (plain.stdout, "heard" in plain.stderr)


# What a module that is left out sets, and what a later one does with it, elsewhere than in itself.
USED_ELSEWHERE = {
    "attribute of another module": ("import third\nthird.other = third.VALUES[0]", "third.other"),
    "variable": ("import os, third\nos.environ['PLANTED'] = str(third.VALUES[0])", "os.environ['PLANTED']"),
    "precision": (
        "import decimal, third\ndecimal.getcontext().prec = third.VALUES[0] + 5",
        "__import__('decimal').getcontext().prec",
    ),
    "recursion": ("import sys, third\nsys.setrecursionlimit(500 + third.VALUES[0])", "sys.getrecursionlimit()"),
    "collector": ("import gc, third\ngc.set_threshold(900 + third.VALUES[0])", "__import__('gc').get_threshold()"),
    "digits": (
        "import sys, third\nsys.set_int_max_str_digits(900 + third.VALUES[0])",
        "sys.get_int_max_str_digits()",
    ),
    "base of a class": (
        "import third\nclass Mine(list if third.VALUES[0] == 1 else dict): pass\nthird.Mine = Mine",
        "third.Mine.__bases__",
    ),
    "filter": (
        "import warnings, third\nwarnings.simplefilter('error' if third.VALUES[0] == 3 else 'ignore')",
        "__import__('warnings').filters[0][0]",
    ),
    "generator": (
        "import random, third\nthird.generator = random.Random(third.VALUES[0])",
        "third.generator.random()",
    ),
    "stream": ("import io, third\nthird.it = io.StringIO('abcd'); third.it.seek(third.VALUES[0])", "third.it.read()"),
    "iterator": ("import third\nthird.it = iter('abcd'); [next(third.it) for _ in third.VALUES[1:3]]", "[*third.it]"),
    "hash": (
        "import hashlib, third\nthird.it = hashlib.sha256(bytes(third.VALUES))",
        "third.it.hexdigest()",
    ),
    "number of C": ("import ctypes, third\nthird.it = ctypes.c_int(third.VALUES[0])", "third.it.value"),
    "memory of C": (
        "import ctypes, third\nthird.it = (ctypes.c_byte * 2)(*third.VALUES)",
        "[*third.it]",
    ),
    "context": (
        "import contextvars, third\nthird.it = contextvars.ContextVar('it')\nthird.it.set(third.VALUES[0])",
        "third.it.get()",
    ),
    "length": ("import collections, third\nthird.it = collections.deque(maxlen=third.VALUES[0])", "third.it.maxlen"),
    "factory": (
        "import collections, third\nthird.it = collections.defaultdict(list if third.VALUES[0] == 3 else dict)",
        "third.it[0]",
    ),
    "pattern": ("import re, third\nthird.it = re.compile(f'{third.VALUES[0]}')", "third.it.search('123').span()"),
    "virtual base": (
        "import abc, third\nclass It(abc.ABC): pass\nIt.register(int if third.VALUES[0] == 3 else str)\nthird.It = It",
        "isinstance(1, third.It)",
    ),
}


@pytest.mark.parametrize("name", but_everyday(USED_ELSEWHERE, {"attribute of another module", "precision", "filter"}))
def test_what_is_set_by_what_one_that_is_left_out_has_set(warm: Warm, name: str) -> None:
    script = with_one_left_out(warm, "changing", OTHER_VALUES, *USED_ELSEWHERE[name])
    warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout


# How a module says that it is there, or sets what there is once, and what shows it.
REGISTRIES = {
    "mapping": ("third.NAMES[__name__] = 1", "[*third.NAMES]"),
    "subclasses": ("KIND = type(__name__, (third.Base,), {})", "third.Base.__subclasses__()"),
    "one of two": ("third.chosen = third.FIRST if 'o' in __name__ else third.SECOND", "third.chosen is third.FIRST"),
    "class of a module": ("third.__class__ = type(__name__, (type(third),), {})", "type(third)"),
    "exit handlers": ("import atexit\natexit.register(print, __name__)", "1"),
    "codecs": (
        "import codecs\nname = __name__.encode()\n"
        "codecs.register(lambda _: codecs.CodecInfo(lambda *_: (name, 1), None))",
        "''.encode('unknown')",
    ),
    "handler of errors": (
        "import codecs\ncodecs.register_error('mine', lambda error: (__name__, error.end))",
        "'\u20ac'.encode('ascii', 'mine')",
    ),
    "handler of a signal": (
        "import signal\nsignal.signal(10, lambda *_: print(__name__))",
        "__import__('signal').raise_signal(10)",
    ),
    "audit hooks": (
        "import sys\nsys.addaudithook(lambda event, _: event == 'mine' and print(__name__))",
        "__import__('sys').audit('mine')",
    ),
    "variable of C": (
        "import os\nos.putenv('PLANTED', __name__)",
        "__import__('subprocess').check_output(['printenv', 'PLANTED'])",
    ),
    "dialect": (
        "import csv\ncsv.register_dialect('mine', delimiter=__name__[0])",
        "__import__('csv').get_dialect('mine').delimiter",
    ),
    "output": ("import sys\nsys.stdout.reconfigure(line_buffering='o' in __name__)", "sys.stdout.line_buffering"),
    "NumPy": (
        "import numpy\nnumpy.seterrcall(lambda *_: print(__name__))",
        "__import__('numpy').geterrcall()()",
    ),
}


@pytest.mark.parametrize("name", but_everyday(REGISTRIES, {"mapping", "subclasses", "exit handlers", "codecs"}))
def test_modules_are_registered_in_the_order_of_the_program(warm: Warm, name: str) -> None:
    register, shown = REGISTRIES[name]
    warm.module("third", "NAMES = {}\nFIRST, SECOND = [1], [2]\nclass Base: pass")
    names = ["one", "two", "three", "four"]
    for number, module in enumerate(names):
        left_out = "import os\nPID = os.getpid()\n" if number % 2 else ""
        warm.module(module, f"import third\n{left_out}{register}")
    script = warm.script(f"import csv, sys, third, {', '.join(names)}\nprint({shown})")
    said = warm.bake(script)
    assert "left out two: " in said, said
    assert warm.start_warm(script).stdout == warm.plain(script).stdout


def test_an_order_by_addresses_takes_nothing_away(warm: Warm) -> None:
    """That of a set of objects is another one wherever they lie in memory, so nobody goes by it."""
    warm.module("third", "class It: pass")
    warm.module("one", "import os, third\nPID = os.getpid()\nALL = [third.It() for _ in range(20)]\nSET = [*{*ALL}]")
    warm.module("two", "import third\nALL = [third.It() for _ in range(20)]")
    said = warm.bake(warm.script("import csv, third, one, two, colorsys\nprint(1)"))
    assert said.count("left out") == 1 and "left out one: it asks for a process number" in said, said


def test_what_a_generator_with_a_seed_of_the_system_gave_is_in_no_image(warm: Warm) -> None:
    warm.module("plant", "import numpy\nGENERATOR = numpy.random.default_rng()\nVALUE = GENERATOR.random() > 2")
    said = warm.bake(warm.script("import csv, plant\nprint(plant.VALUE)"))
    assert "left out plant: it asks for entropy" in said, said


def test_imports_behind_which_the_maker_fails_are_said(warm: Warm) -> None:
    warm.module("plant", "import dataclasses\ndataclasses.dataclass = lambda kind: kind")
    outcome = warm.try_to_bake(warm.script("import plant"))
    assert outcome.status == 1 and "ours fail behind them: TypeError" in outcome.stderr, outcome
    assert "Traceback" not in outcome.stderr


def test_exit_handlers_of_imports_run(warm: Warm) -> None:
    warm.module("plant", "import atexit\natexit.register(print, 'end')")
    script = warm.script("import plant\nprint('begin')")
    warm.bake(script)
    assert warm.start_warm(script).stdout == "begin\nend\n"


NUMBERS = ["len(os.sched_getaffinity(0))", "os.cpu_count()"]


@pytest.mark.parametrize("text", but_everyday(NUMBERS, {NUMBERS[0]}))
def test_the_number_of_processors_is_in_the_key(warm: Warm, text: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")
    warm.module("plant", f"import os\nVALUE = {text}")
    script = warm.script("import plant\nprint(plant.VALUE)")
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout
    one = str(min(os.sched_getaffinity(0)))
    warm.start_fresh("another number of processors", script, before=("taskset", "-c", one))


def test_all_variables_are_in_the_key_where_an_import_looks_at_all(warm: Warm) -> None:
    """But those that launchers and shells give to each process, of which it keeps nothing."""
    warm.module("plant", "import os\nVALUE = [name for name, _ in os.environ.items() if name.startswith('PLANTED_')]")
    script = warm.script("import plant\nprint(plant.VALUE)")
    assert "left out" not in warm.bake(script, PLANTED_A="1")
    of_a_rank = {"PMI_RANK": "3", "MPI_LOCALNRANKS": "4", "SLURM_NODEID": "7", "OLDPWD": "/x", "MPIIMPORT_KEEP": "auto"}
    assert warm.start_warm(script, PLANTED_A="1", **of_a_rank).stdout == "['PLANTED_A']\n"
    another = warm.start_fresh("made without such a variable: PLANTED_B", script, PLANTED_A="1", PLANTED_B="2")
    assert another.stdout == "['PLANTED_A', 'PLANTED_B']\n"
    warm.start_fresh("another value of the variable PLANTED_A", script, PLANTED_A="2")
    assert warm.start_fresh("another value of the variable PLANTED_A", script).stdout == "[]\n"


def test_a_name_in_the_current_directory_is_in_the_key(warm: Warm, tmp_path: Path) -> None:
    warm.module("plant", "import os\nVALUE = os.path.exists('not_made')")
    script = warm.script("import plant\nprint(plant.VALUE)")
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == "False\n"
    (tmp_path / "work" / "not_made").touch()
    assert warm.start_fresh("imports would find not_made", script).stdout == "True\n"
    assert "left out plant: it asks for the current directory" in warm.bake(script)


def test_a_library_that_is_looked_for_is_in_an_image(warm: Warm) -> None:
    """`ctypes.util.find_library` starts ldconfig, which prints a file that is in the key."""
    warm.module("plant", "import ctypes.util\nVALUE = ctypes.util.find_library('dl')")
    script = warm.script("import plant\nprint(plant.VALUE)")
    assert "left out" not in warm.bake(script)
    assert b"/etc/ld.so.cache" in warm.image.read_bytes()
    assert warm.start_warm(script) == warm.plain(script)


def test_an_order_that_follows_addresses_is_any_order(warm: Warm) -> None:
    """Plainly each process has another one: that of a set of classes."""
    warm.module("plant", "VALUE = [kind.__name__ for kind in {type(f'K{n}', (), {}) for n in range(99)}]")
    script = warm.script("import plant\nprint(sorted(plant.VALUE))")
    assert "left out" not in warm.bake(script)
    assert warm.start_warm(script).stdout == warm.plain(script).stdout
