"""Imports that are put off, that run at once in several threads, that go in circles, or in another interpreter."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.sameness import assert_same

TREE = {
    "kit/__init__.py": "def __getattr__(name):\n    import importlib\n    return importlib.import_module('kit.' + name)\n",
    "kit/slow.py": "import time\ntime.sleep(0.2)\nvalue = 1\n",
    "kit/other.py": "value = 2\n",
    "ring/__init__.py": "from . import a\n",
    "ring/a.py": "import ring.b\nfrom ring import b\nvalue = b.early\n",
    "ring/b.py": "early = 3\nimport ring.a\nfrom . import a\n",
    "knot/__init__.py": "from .a import thing\n",
    "knot/a.py": "from knot import other\nthing = 1\n",
    "knot/other.py": "from knot.a import thing\n",
    # No circle: where threads meet in one, plain Python itself fails now and then.
    **{f"many/m{i}.py": f"from . import m{i + 1}\nvalue = {i}\n" for i in range(39)},
    "many/m39.py": "value = 39\n",
    "many/__init__.py": "",
}
LAZY = """
import importlib.util, sys, kit
def lazily(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
late = lazily("kit.other")
seen["before"] = type(late).__name__
seen["value"] = late.value
seen["after"] = [type(late).__name__, late.__file__]
fraction = lazily("fractions")
seen["stdlib"] = str(fraction.Fraction(1, 3))
seen["getattr"] = kit.slow.value
seen["found"] = [importlib.util.find_spec(name) is not None for name in ("kit.other", "kit.none", "many.m3")]
spec = importlib.util.spec_from_file_location("elsewhere", kit.__path__[0] + "/other.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
seen["from file"] = [module.value, module.__name__, module.__cached__]
seen["circle"] = __import__("ring").a.value
try:
    import knot
except ImportError as exc:
    seen["knot"] = str(exc)
"""
THREADS = """
import importlib, sys, threading
def work(names):
    for name in names:
        importlib.import_module(name)
names = ["kit.slow"] + [f"many.m{i}" for i in range(40)] + ["numpy.random", "scipy.special", "json", "decimal"]
threads = [threading.Thread(target=work, args=(names[i:] + names[:i],)) for i in range(0, len(names), 5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
seen["modules"] = sorted(name for name in sys.modules if name.startswith(("kit", "many")))
seen["values"] = [sys.modules[f"many.m{i}"].value for i in range(40)]
"""
EXTENSIONS_IN_THREADS = """
import importlib, sys, threading
from importlib.machinery import ExtensionFileLoader
def named():
    import array, binascii, cmath, fcntl, grp, math, mmap, resource, select, termios, unicodedata, zlib
    import _asyncio, _bisect, _blake2, _codecs_jp, _codecs_kr, _csv, _datetime, _decimal, _heapq, _hashlib, _json, _lzma
    import _multiprocessing, _opcode, _pickle, _posixsubprocess, _queue, _random, _socket, _ssl, _statistics, _struct
    import _uuid, _zoneinfo
names = [name for name in named.__code__.co_varnames if name not in sys.modules]
def work(names):
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as exc:
            failed.append(f"{name}: {exc}")
failed = []
before = sys.getswitchinterval()
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work, args=(names[i::8],)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.setswitchinterval(before)
seen["failed"] = failed
seen["extensions"] = sum(isinstance(sys.modules[name].__spec__.loader, ExtensionFileLoader) for name in names) > 20
"""
INTERPRETERS = """
import json, os, sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import kit.other, csv
name = os.path.join({directory!r}, "inside-%d" % os.getpid())
interpreter = interpreters.create()
seen["failure"] = interpreters.run_string(interpreter, '''
import sys
import json.decoder, colorsys, csv, kit.other, many.m1
with open(%r, "w") as stream:
    print(kit.other.value, many.m1.value, colorsys.__file__, len(sys.path_hooks), file=stream)
    if {with_site!r}:
        print(sys.path, file=stream)
    print([type(finder).__module__ for finder in sys.path_importer_cache.values() if "Store" in repr(finder)], file=stream)
''' % name)
interpreters.destroy(interpreter)
seen["inside"] = open(name).read()
import colorsys, many.m2
seen["outside"] = [colorsys.__file__, many.m2.value]
"""


def test_lazy_loaders_module_getattr_and_circles(job: Job, mpich: Mpi) -> None:
    assert_same(
        job,
        mpich,
        LAZY,
        TREE,
        entry_points=(
            "early",
            "sitecustomize",
        ),
    )


def test_threads_import_at_once(job: Job, mpich: Mpi) -> None:
    assert_same(
        job,
        mpich,
        THREADS,
        TREE,
        entry_points=(
            "early",
            "sitecustomize",
        ),
    )


def test_threads_map_extension_modules_at_once(job: Job, mpich: Mpi) -> None:
    assert_same(job, mpich, EXTENSIONS_IN_THREADS, TREE, entry_points=("early",))


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_another_interpreter_in_the_process_imports_the_ordinary_way(job: Job, mpich: Mpi, entry_point: str) -> None:
    text = INTERPRETERS.replace("{directory!r}", repr(str(job.directory)))
    # It takes the -S of the early start for its own, as docs/behaviour.md says.
    text = text.replace("{with_site!r}", str(entry_point != "early"))
    assert_same(job, mpich, text, TREE, entry_points=(entry_point,))
