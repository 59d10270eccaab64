"""Building blocks of random programs: what users' programs do that an import service might get wrong.

A block is program text. ``NN`` stands for the block's number in the program, ``<<a|b>>`` for one of the alternatives.
It may use the names of PREAMBLE, prints what it sees, and writes only files whose names carry the rank. Paths of its
``files`` are relative to the program's directory, of which ``lib`` is in PYTHONPATH.
"""

from dataclasses import dataclass, field

PREAMBLE = """\
import os, sys
rank = int(next(filter(None, map(os.environ.get, ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")))))
HERE, PLACE, LIB = os.environ["HERE"], os.environ["PLACE"], os.environ["HERE"] + "/lib"
def write(path, text, mode="w"):
    import time
    time.sleep(0.02)  # a finder tells directories' states by their times
    with open(path, mode) as stream:
        stream.write(text)
"""


@dataclass(frozen=True)
class Block:
    """``main``: makes sense in ``__main__`` only; ``mpi``: uses MPI; ``apart``: breaks a program that uses MPI, plainly
    too; ``place``: needs the script's directory to be one; ``ending``: nothing that follows it is executed;
    ``compiled``: shows whether modules have been compiled, so that ranks must not race for that;
    ``alone``: taken by name only; ``uncaught``: an ending by an exception."""

    name: str
    text: str
    files: dict[str, str | bytes] = field(default_factory=dict)
    main: bool = False
    mpi: bool = False
    apart: bool = False
    place: bool = False
    ending: bool = False
    compiled: bool = False
    alone: bool = False
    uncaught: bool = False


BLOCKS: list[Block] = []


def block(name: str, text: str, files: dict[str, str | bytes] | None = None, **traits: bool) -> None:
    BLOCKS.append(Block(name, text.strip("\n") + "\n", files or {}, **traits))


# Files that are left open, and output that is not flushed.

block(
    "csv left open",
    """
import csv
outNN = open(f"res.NN.{rank}.csv", "w", newline="")
writerNN = csv.writer(outNN)
for rowNN in range(<<1|40|1000>>):
    writerNN.writerow([rowNN, rank, "text"])
""",
)
block(
    "csv writer alone left",
    """
import csv
writerNN = csv.writer(open(f"only.NN.{rank}.csv", "w"))
for rowNN in range(<<3|1000>>):
    writerNN.writerow([rowNN, rank])
""",
)
block("text left open", 'textNN = open("text.NN.%d" % rank, "<<w|a|x>>"); textNN.write("line\\n" * <<1|5000>>)')
block(
    "big buffer left open",
    'bufferNN = open(f"{HERE}/big.NN.{rank}", "wb", buffering=1 << 20); bufferNN.write(b"x" * 70000)',
)
block(
    "file in a container left open",
    'openNN = {"a": [open(f"in.NN.{rank}", "w")]}; openNN["a"][0].write("a" * 9); openNN["self"] = openNN',
)
block(
    "gzip left open",
    """
import <<gzip|bz2|lzma>> as packNN
zippedNN = packNN.open(f"packed.NN.{rank}", "wb") if packNN.__name__ != "gzip" else packNN.GzipFile(f"packed.NN.{rank}", "wb", mtime=0)
zippedNN.write(b"data" * 3000)
""",
)
block(
    "zip left open",
    """
import zipfile
archiveNN = zipfile.ZipFile(f"archive.NN.{rank}.zip", "w")
archiveNN.writestr(zipfile.ZipInfo("a.txt", (2000, 1, 1, 0, 0, 0)), "text" * 100)
""",
)
block(
    "shelf left open",
    """
import dbm.dumb, shelve
shelfNN = shelve.Shelf(dbm.dumb.open(f"shelf.NN.{rank}", "c"), <<writeback=True|protocol=2>>)
shelfNN["a"] = [1, 2]
shelfNN["a"].append(3)
""",
)
block(
    "temporary directory left",
    """
import tempfile
temporaryNN = tempfile.TemporaryDirectory(dir=HERE, prefix="left.NN.")
open(os.path.join(temporaryNN.name, "a"), "w").close()
namedNN = tempfile.NamedTemporaryFile(dir=HERE, prefix="left.NN.")
""",
)
block(
    "log handlers left",
    """
import logging, logging.handlers
logNN = logging.getLogger("logNN")
logNN.addHandler(logging.handlers.MemoryHandler(1000, target=logging.FileHandler(f"log.NN.{rank}", <<delay=True|"w">>)))
logNN.handlers[0].target.setFormatter(logging.Formatter("%(filename)s %(funcName)s %(levelname)s %(processName)s %(threadName)s %(message)s"))
logNN.warning("buffered until the end")
""",
)
block(
    "sqlite left open",
    """
try:
    import sqlite3
    baseNN = sqlite3.connect(f"base.NN.{rank}")
    baseNN.execute("create table a (b)"); baseNN.execute("insert into a values (1)")
    baseNN.commit()
except ImportError as exc:
    print(exc)
""",
)
block(
    "mmap left open",
    """
import mmap
write(f"mapped.NN.{rank}", "." * 5000)
mapNN = mmap.mmap(open(f"mapped.NN.{rank}", "r+b").fileno(), 0)
mapNN[100:105] = b"12345"
""",
)
block("output without a newline", 'print("no newline", end="<<| |\\t>>"); sys.stdout.write("x" * <<3|9000>>)')
block(
    "standard error in parts",
    'sys.stderr.write("part NN "); print("of a line", file=sys.stderr); sys.stderr.write("rest NN")',
)
block(
    "stdout wrapped anew",
    'import io; wrapNN = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="<<utf-8|utf-16>>"); wrapNN.write("wrapped \\u00e9")',
)
block("stdout replaced", 'sys.stdout = open(f"stdout.NN.{rank}", "w"); print("to the file")', main=True)
block(
    "stdout dup2",
    'fdNN = os.open(f"dup2.NN.{rank}", os.O_CREAT | os.O_WRONLY); sys.stdout.flush(); os.dup2(fdNN, 1); print("to the other file")',
)
block(
    "stderr dup2",
    'fdNN = os.open(f"dup2err.NN.{rank}", os.O_CREAT | os.O_WRONLY); os.dup2(fdNN, 2); print("to the other file", file=sys.stderr)',
)
block(
    "stdout is None",
    'sys.stdout.flush(); savedNN = sys.stdout; sys.stdout = None; print("nowhere"); sys.stdout = savedNN',
)
block(
    "thousand descriptors",
    'manyNN = [open(f"many.NN.{n}.{rank}", "w") for n in range(30)]\nfor fNN in manyNN: fNN.write("abc")',
)
block(
    "pipe left open",
    'import warnings; warnings.simplefilter("ignore", ResourceWarning)\nreadNN, fdNN = os.pipe(); writeNN = os.fdopen(fdNN, "w"); writeNN.write("never read")',
)
block(
    "generator suspended",
    """
def generatorNN():
    try:
        with open(f"generator.NN.{rank}", "w") as stream:
            stream.write("begun"); yield 1; yield 2
    finally:
        print("finally of the generator")
heldNN = generatorNN(); next(heldNN)
""",
)

# Objects that act when they die.

DYING = """
class Dying:
    def __init__(self, name): self.name = name
    def __del__(self):
        print("died", self.name, file=self.out)
        with self.open(f"{self.place}/died.{self.name}.{self.rank}", "w") as stream: stream.write("x")
    out, open, place, rank = sys.stdout, open, HERE, rank
"""
block("__del__ in the module", DYING + 'deadNN = Dying("moduleNN")')
block(
    "__del__ in a cycle",
    DYING
    + 'deadNN = Dying("cycleNN"); deadNN.me = deadNN; deadNN.all = globals()\n<<del deadNN|import gc; gc.disable()|import gc; gc.freeze(); gc.unfreeze()>>',
)
block("__del__ in a closure", DYING + "def holdNN(d=Dying('defaultNN')): return lambda: d\nkeptNN = holdNN()")
block("__del__ in sys", DYING + 'sys.deadNN = Dying("sysNN")')
block("__del__ in builtins", DYING + 'import builtins; builtins.deadNN = Dying("builtinsNN")')
block(
    "__del__ in a made module",
    DYING
    + 'import types; sys.modules["madeNN"] = types.ModuleType("madeNN"); sys.modules["madeNN"].d = Dying("madeNN")',
)
block("__del__ in a class", DYING + "class KeepNN: dead = Dying('classNN')")
block(
    "__del__ in an exception",
    DYING
    + """
try:
    localNN = Dying("frameNN"); raise ValueError("kept")
except ValueError as exc:
    errorNN = exc
""",
)
block(
    "__del__ in a thread's locals",
    DYING
    + """
import threading
storageNN = threading.local(); storageNN.d = Dying("localNN")
def heldNN(): storageNN.d = Dying("threadNN")
threadNN = threading.Thread(target=heldNN); threadNN.start(); threadNN.join()
""",
)
block(
    "__del__ sees its globals",
    """
markNN = "mark"
class SeesNN:
    def __del__(self): print("globals:", markNN, sys is not None and sys.getrefcount is not None, os is not None)
seesNN = SeesNN(); <<zzzNN = seesNN|_aNN = seesNN|pass>>
""",
)
block(
    "__del__ raises",
    "class RaisesNN:\n    def __del__(self): raise ValueError('in __del__')\nraisesNN = RaisesNN()\n<<del raisesNN|pass>>",
)
block(
    "weakref.finalize",
    """
import weakref
class HasNN: pass
hasNN = HasNN(); weakref.finalize(hasNN, print, "finalized NN"); refNN = weakref.ref(hasNN, lambda r: print("referent gone"))
lastNN = weakref.finalize(hasNN, print, "not at exit"); lastNN.atexit = False
""",
)
block(
    "who holds main",
    """
import gc, types
mainNN = sys.modules["__main__"].__dict__
print("holders", sorted({type(h).__name__ for h in gc.get_referrers(mainNN)} - {"dict"}))
print(sorted(h.__qualname__ for h in gc.get_referrers(mainNN) if isinstance(h, types.FunctionType)))
""",
    main=True,
)
block(
    "gc state",
    "import gc; print(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug(), gc.callbacks, gc.garbage)",
)

# Threads.

block(
    "thread joined at the end",
    'import threading, time\ndef workNN(): threading.main_thread().join(); print("thread is done"); open(f"thread.NN.{rank}", "w").write("x")\nthreading.Thread(target=workNN, name="workerNN").start()',
)
block(
    "daemon waits",
    "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start(); print(threading.active_count())",
)

block(
    "threads import",
    """
import threading
def importNN(name): __import__(name)
threadsNN = [threading.Thread(target=importNN, args=(name,)) for name in ("<<json|csv>>", "decimal", "email.message", "ltwo", "lone", "lpack.two")]
for t in threadsNN: t.start()
import <<xml.dom.minidom|lpack.one|wave>>
for t in threadsNN: t.join()
print(sorted(n for n in sys.modules if n in ("json", "csv", "decimal", "ltwo", "lone", "lpack.two")))
""",
)
block(
    "thread raises",
    """
import threading
def failNN(): <<raise ValueError("in a thread")|import no_such_module|sys.exit(3)>>
threadNN = threading.Thread(target=failNN, name="failing"); threadNN.start(); threadNN.join()
""",
)
block(
    "pool left",
    'from concurrent.futures import ThreadPoolExecutor\npoolNN = ThreadPoolExecutor(2); print(list(poolNN.map(abs, [-1, 2]))); futureNN = poolNN.submit(open, f"pool.NN.{rank}", "w")',
)
block("timer pending", 'import threading; threading.Timer(0.05, open, [f"{HERE}/timer.NN.{rank}", "w"]).start()')
block(
    "thread state",
    "import threading; print(threading.active_count(), threading.main_thread().name, [t.name for t in threading.enumerate()], threading.excepthook.__name__, sys.getswitchinterval(), threading.stack_size())",
    main=True,
)
block(
    "thread prints at exit",
    'import threading\ndef lateNN(): threading.main_thread().join(); print("after main"); import <<colorsys|lthree>>\nthreading.Thread(target=lateNN).start()',
)
block(
    "asyncio",
    'import asyncio\nasync def mainNN():\n    await asyncio.sleep(0.001); return await asyncio.to_thread(__import__, "lone")\nprint(asyncio.run(mainNN()).__name__)',
)
block(
    "asyncio left",
    'import asyncio\nasync def agenNN():\n    try:\n        yield 1\n    finally: print("agen closed")\nasync def mainNN():\n    async for x in agenNN(): break\nasyncio.run(mainNN()); print(sys.get_asyncgen_hooks())',
)

# Handlers at exit.

block(
    "atexit",
    'import atexit\natexit.register(print, "exit handler NN")\n@atexit.register\ndef exitNN(): open(f"atexit.NN.{rank}", "w").write(str(sys.modules.get("__main__") is not None))',
)
block(
    "atexit raises",
    'import atexit\n@atexit.register\ndef exitNN(): <<raise ValueError("at exit")|sys.exit(5)|import no_such>>',
)
block(
    "atexit imports",
    "import atexit\n@atexit.register\ndef exitNN():\n    import <<tabnanny|lthree|lpack.one>> as m; print(m.__name__, m.__spec__.origin is not None)",
)
block(
    "atexit unregistered",
    "import atexit; atexit.register(print, 'never'); atexit.unregister(print); print(atexit._ncallbacks() >= 0)",
)
block("atexit registers", "import atexit\n@atexit.register\ndef exitNN(): atexit.register(print, 'registered at exit')")
block(
    "atexit sees MPI",
    "import atexit\n@atexit.register\ndef exitNN():\n    from mpi4py import MPI; print(MPI.Is_initialized(), MPI.Is_finalized())\nfrom mpi4py import MPI\natexit.register(lambda: print(MPI.COMM_WORLD.allreduce(1)))",
    mpi=True,
)
block(
    "atexit run early", "import atexit; atexit.register(print, 'run early NN'); atexit._run_exitfuncs(); print('then')"
)
block(
    "atexit forks",
    "import atexit\n@atexit.register\ndef exitNN():\n    sys.stdout.flush(); pid = os.fork()\n    if not pid: os._exit(4)\n    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
)
block("at the end of the modules", DYING + 'sys.modules["zzzNN"] = Dying("as a moduleNN")')

# Signals.

block(
    "signal to itself",
    'import signal\nsignal.signal(signal.SIGUSR1, lambda n, f: print("signal", n, f.f_code.co_name, f.f_lineno))\nos.kill(os.getpid(), signal.SIGUSR1); print("after")',
)
block(
    "alarm",
    'import signal\nsignal.signal(signal.SIGALRM, lambda n, f: print("alarm"))\nsignal.setitimer(signal.ITIMER_REAL, 0.02); signal.pause(); print(signal.getitimer(signal.ITIMER_REAL))',
)
block(
    "alarm raises in import",
    'import signal\ndef raisesNN(n, f): raise TimeoutError("alarm")\nsignal.signal(signal.SIGALRM, raisesNN)\ntry:\n    signal.setitimer(signal.ITIMER_REAL, 0.05)\n    import lsleep\nexcept TimeoutError as exc: print(repr(exc), "lsleep" in sys.modules)',
)
block(
    "signal states",
    'import signal\nprint({s.name: getattr(signal.getsignal(s), "__name__", signal.getsignal(s)) for s in signal.valid_signals() if isinstance(s, signal.Signals)})\nprint(signal.pthread_sigmask(0, []), signal.set_wakeup_fd(-1), signal.getitimer(0), signal.getitimer(1), signal.getitimer(2), signal.sigpending())',
    main=True,
)
block(
    "interrupt caught",
    "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt as exc: print(repr(exc))",
)
block(
    "faulthandler",
    'import faulthandler, signal; print(faulthandler.is_enabled()); faulthandler.register(signal.SIGUSR2, open(f"fault.NN.{rank}", "w")); faulthandler.dump_traceback_later(100); faulthandler.cancel_dump_traceback_later(); faulthandler.unregister(signal.SIGUSR2)',
)
block(
    "child ends by a signal",
    'import subprocess; print(subprocess.run([sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"]).returncode)',
)
block(
    "SIGCHLD",
    'import signal, time\nsignal.signal(signal.SIGCHLD, <<signal.SIG_IGN|lambda n, f: None>>)\nos.system("true"); time.sleep(0.01); signal.signal(signal.SIGCHLD, signal.SIG_DFL)',
)

# Import hooks.

block(
    "meta_path finder",
    """
import importlib.abc, importlib.machinery
class FinderNN(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        askedNN.append((name, path and [p.replace(HERE, "") for p in path]))
        if name == "virtualNN": return importlib.machinery.ModuleSpec(name, self, origin="virtual")
    def exec_module(self, module): module.value = "made NN"
askedNN = []
sys.meta_path.insert(<<0|1|len(sys.meta_path)>>, FinderNN())
import virtualNN, lone, ltwo, lpack.one
try: import no_such_NN
except ImportError as exc: print(repr(exc))
print(virtualNN.value, [a for a in askedNN if a[0][0] in "lvn"])
""",
)
for _where, _position in (
    ("first", "0"),
    ("last", "len(sys.path_hooks)"),
    (
        "before FileFinder's",
        "next(i for i, h in enumerate(sys.path_hooks) if getattr(h, '__qualname__', '').startswith('FileFinder.path_hook'))",
    ),
):
    block(
        f"path_hooks {_where}",
        f"""
import importlib, importlib.machinery
class LoaderNN(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, **named):
        return super().source_to_code(bytes(data) + b"\\nhooked = 'hooked NN'\\n", path)
    def get_code(self, name):
        return self.source_to_code(self.get_data(self.path), self.path)
class HookNN:
    def __call__(self, path):
        if not path.startswith(HERE): raise ImportError
        return importlib.machinery.FileFinder(path, (LoaderNN, importlib.machinery.SOURCE_SUFFIXES))
sys.path_hooks.insert({_position}, HookNN())
<<sys.path_importer_cache.clear()|importlib.invalidate_caches()|pass>>
import lone, lpack.one, lpack.two
print([getattr(m, "hooked", None) for m in (lone, lpack, lpack.one, lpack.two)])
""",
    )
block(
    "path hook as beartype's",
    """
import importlib, importlib.machinery
class LoaderNN(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        self.tag = "beartype-like"
        return super().get_code(name)
    def source_to_code(self, data, path, **named):
        print("compiles", path.replace(HERE, "")); return super().source_to_code(data, path, **named)
sys.dont_write_bytecode = True
sys.path_hooks.insert(0, importlib.machinery.FileFinder.path_hook((LoaderNN, importlib.machinery.SOURCE_SUFFIXES)))
sys.path_importer_cache.clear()
import lpack.one, lthree
print(type(lpack.one.__loader__).__name__, type(lthree.__loader__).__name__, lthree.value)
del sys.path_hooks[0]; sys.path_importer_cache.clear()
""",
)
block(
    "source_to_code replaced",
    """
sys.dont_write_bytecode = True
import importlib.machinery as machNN
oldNN = machNN.SourceFileLoader.source_to_code
def newNN(self, data, path, **named):
    print("compiles", os.path.basename(path)); return oldNN(self, data, path, **named)
machNN.SourceFileLoader.source_to_code = newNN
import lone, lpack.one, lsource
<<machNN.SourceFileLoader.source_to_code = oldNN|pass>>
print(lone.value, lpack.one.value)
""",
)
block(
    "get_code replaced",
    """
import importlib.machinery as machNN
oldNN = machNN.SourceFileLoader.get_code
def newNN(self, name):
    if name[:1] == "l": print("code of", name)
    return oldNN(self, name)
machNN.SourceFileLoader.get_code = newNN
import lone, lpack.one, lthree
""",
)
block(
    "get_data replaced",
    """
import importlib.machinery as machNN
oldNN = machNN.SourceFileLoader.get_data
def newNN(self, path):
    if path.startswith(HERE): print("data of", os.path.basename(path))
    return oldNN(self, path)
machNN.SourceFileLoader.get_data = newNN
import lone, lpack.two, lthree
print(lpack.__loader__.get_data(lpack.__file__))
""",
    compiled=True,
)
block(
    "path_stats replaced",
    """
import importlib.machinery as machNN
oldNN = machNN.SourceFileLoader.path_stats
def newNN(self, path):
    if path.startswith(HERE): print("stats of", os.path.basename(path))
    return oldNN(self, path)
machNN.SourceFileLoader.path_stats = newNN
import lthree, lpack.two
""",
    compiled=True,
)
block(
    "FileFinder.find_spec replaced",
    """
import importlib.machinery as machNN
oldNN = machNN.FileFinder.find_spec
def newNN(self, name, target=None):
    if name[:1] == "l" and self.path.startswith(HERE): print("finds", name, self.path.replace(HERE, ""))
    return oldNN(self, name, target)
machNN.FileFinder.find_spec = newNN
import lone, lpack.one, lthree
""",
)
block(
    "PathFinder.find_spec replaced",
    """
import importlib.machinery as machNN
oldNN = machNN.PathFinder.find_spec
def newNN(name, path=None, target=None):
    spec = oldNN(name, path, target)
    if name[:1] == "l" and spec: print("PathFinder", name, type(spec).__name__)
    return spec
machNN.PathFinder.find_spec = newNN
import lone, lpack.one
""",
)
block(
    "exec_module replaced",
    """
import importlib.machinery as machNN
oldNN = machNN.SourceFileLoader.exec_module
def newNN(self, module):
    oldNN(self, module); module.stamped = "NN"
machNN.SourceFileLoader.exec_module = newNN
import lone, lpack.one, lthree
print([getattr(m, "stamped", None) for m in (lone, lpack.one, lthree)])
""",
)
block(
    "loader class in the spec replaced",
    """
import importlib.util, importlib.machinery
class LoaderNN(importlib.machinery.SourceFileLoader):
    def exec_module(self, module): super().exec_module(module); module.wrapped = True
specNN = importlib.util.find_spec("lpack.one"); specNN.loader = LoaderNN(specNN.loader.name, specNN.loader.path)
moduleNN = importlib.util.module_from_spec(specNN); specNN.loader.exec_module(moduleNN); print(moduleNN.wrapped, moduleNN.value)
""",
)
block(
    "lazy loader",
    """
import importlib.util
specNN = importlib.util.find_spec("<<lone|lpack.two|lthree>>"); specNN.loader = importlib.util.LazyLoader(specNN.loader)
lazyNN = importlib.util.module_from_spec(specNN); sys.modules[specNN.name] = lazyNN; specNN.loader.exec_module(lazyNN)
print("lazy"); print(lazyNN.value, type(lazyNN).__name__)
""",
)
block(
    "__import__ replaced",
    """
import builtins
oldNN = builtins.__import__
def newNN(name, *arguments, **options):
    if name[:1] == "l": seenNN.append(name)
    return oldNN(name, *arguments, **options)
seenNN = []; builtins.__import__ = newNN
import lone, lpack.one; from lpack import two
builtins.__import__ = oldNN; print([s for s in seenNN if s.startswith(("lone", "lpack"))])
""",
)
block(
    "importer cache filled by hand",
    """
import importlib.machinery
class EntryNN:
    def __init__(self, path): self.inner = importlib.machinery.FileFinder(path, (importlib.machinery.SourceFileLoader, [".py"]))
    def find_spec(self, name, target=None): name[0] == "l" and print("entry asked", name); return self.inner.find_spec(name, target)
sys.path_importer_cache[LIB] = EntryNN(LIB)
import lone, lsource
del sys.path_importer_cache[LIB]
""",
)
block(
    "hook removed",
    'hooksNN = sys.path_hooks[:]; del sys.path_hooks[<<-1|0>>]; sys.path_importer_cache.clear()\ntry: import lone; print("found")\nexcept ImportError as exc: print(repr(exc))\nsys.path_hooks[:] = hooksNN; sys.path_importer_cache.clear(); import lone; print(lone.value)',
    main=True,
)
block(
    "hooks rebuilt",
    """
import importlib, importlib.machinery as machNN, zipimport
sys.path_hooks[:] = [zipimport.zipimporter, machNN.FileFinder.path_hook((machNN.ExtensionFileLoader, machNN.EXTENSION_SUFFIXES), (machNN.SourceFileLoader, machNN.SOURCE_SUFFIXES))]
sys.path_importer_cache.clear(); import lone, lpack.one; print(isinstance(lone.__loader__, machNN.SourceFileLoader), lpack.one.value)
""",
)
block(
    "type of the finders",
    'import importlib.machinery as m, lone\nprint(isinstance(sys.path_importer_cache.get(LIB), m.FileFinder), isinstance(lone.__loader__, m.SourceFileLoader), [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path], lone.__loader__.is_package("lone"), lone.__loader__.get_filename("lone").replace(HERE, ""))',
)
block(
    "code through the loader",
    """
import lone, lpack.two
for mNN in (lone, lpack, lpack.two):
    loader = mNN.__loader__
    print(loader.get_code(mNN.__name__).co_filename == mNN.__file__, loader.get_source(mNN.__name__) == open(mNN.__file__).read(), loader.is_package(mNN.__name__))
    try: print(loader.get_code("<<another|>>"))
    except ImportError as exc: print(repr(exc))
    try: print(loader.path_stats(mNN.__file__)["size"], loader.get_data(mNN.__file__)[:9])
    except OSError as exc: print(repr(exc))
    try: loader.get_resource_reader(mNN.__name__)
    except ImportError as exc: print(repr(exc))
""",
)
block(
    "specs copied",
    """
import copy, pickle, lone, lpack, importlib.util, <<decimal|email>> as stdNN
for mNN in (lone, lpack, stdNN):
    for make in (copy.deepcopy, copy.copy, lambda o: pickle.loads(pickle.dumps(o))):
        for get in (lambda m: m.__loader__, lambda m: m.__spec__):
            try: got = make(get(mNN)); print(got == get(mNN), getattr(got, "name", None))
            except Exception as exc: print(type(exc).__name__, exc)
""",
)
block(
    "specs broadcast",
    "from mpi4py import MPI\nimport lone\nspecNN = MPI.COMM_WORLD.bcast(lone.__spec__ if MPI.COMM_WORLD.rank == 0 else None)\nprint(specNN == lone.__spec__, specNN.name)\nprint(MPI.COMM_WORLD.gather(lone.__loader__ == MPI.COMM_WORLD.bcast(lone.__loader__)))",
    mpi=True,
)
block(
    "modules as values",
    'import importlib.util, lone\nspecNN = importlib.util.spec_from_loader("lone", lone.__loader__); print(specNN.origin.replace(HERE, ""), specNN == lone.__spec__, specNN.cached == lone.__cached__, repr(lone).replace(HERE, ""), {k: str(v).replace(HERE, "") for k, v in vars(lone.__spec__).items() if k not in ("loader", "_loader_state", "loader_state")})',
)
block(
    "modules blocked",
    'sys.modules["lone"] = None\ntry: import lone\nexcept ImportError as exc: print(repr(exc), exc.name, exc.path)\ndel sys.modules["lone"]; import lone; print(lone.value)',
)
block(
    "import errors",
    """
for nameNN in ("no_such", "lpack.no_such", "lone.x", "lbroken", "lpack.broken", "lraises", "os.no", "lcircle", "email.no_such", "json.no"):
    try: __import__(nameNN)
    except Exception as exc:
        import traceback
        print(nameNN, type(exc).__name__, str(exc).replace(HERE, ""), getattr(exc, "name", None), str(getattr(exc, "path", None)).replace(HERE, ""), nameNN in sys.modules)
        print(*[(os.path.basename(f.filename), f.lineno, f.name, f.line) for f in traceback.extract_tb(exc.__traceback__)], len(traceback.format_exc().splitlines()))
try: from lpack import absent
except ImportError as exc: print(str(exc).replace(HERE, ""), exc.name)
""",
)
block("stack during import", "import lstack; print(lstack.seen[:6])", main=True)
block(
    "warnings",
    'import warnings\n<<warnings.simplefilter("always")|warnings.simplefilter("error", SyntaxWarning)|pass>>\ntry: import lwarn, lpack.warn\nexcept Warning as exc: print(repr(exc))\nwarnings.warn("from the program", <<UserWarning|DeprecationWarning>>, stacklevel=<<1|2|9>>)\nprint(lwarn.__name__ if "lwarn" in sys.modules else "-", [str(f[1:4:2]) for f in warnings.filters][:4])',
)
block(
    "audit and profile",
    """
seenNN = []
def hookNN(event, args):
    if event == "import" and args[0][:1] == "l": seenNN.append(args[0])
sys.addaudithook(hookNN)
import lone, lpack.two, lthree
print(seenNN)
""",
)
block(
    "settrace",
    """
seenNN = []
def traceNN(frame, event, arg):
    name = frame.f_code.co_filename
    if name.startswith(HERE) and event == "call" and frame.f_code.co_name == "<module>": seenNN.append((os.path.basename(name), frame.f_lineno))
sys.<<settrace|setprofile>>(traceNN)
import lone, lpack.two, lthree
sys.settrace(None); sys.setprofile(None); print(seenNN)
""",
)

# Modules made at run time.

block(
    "module written beside the script",
    'write(f"{PLACE}/late_NN_{rank}.py", "value = 1 is 1")\nlateNN = __import__(f"late_NN_{rank}"); print(lateNN.value)',
    place=True,
)
block(
    "module written in lib",
    'import importlib\nwrite(f"{LIB}/late_NN_{rank}.py", "value = 1")\nimportlib.invalidate_caches()\nlateNN = __import__(f"late_NN_{rank}"); print(lateNN.value)',
)
block(
    "module written after the caches were cleared",
    'import importlib\nsys.path_importer_cache.clear(); importlib.invalidate_caches()\nwrite(f"{LIB}/late_NN_{rank}.py", "value = 1")\n<<pass|sys.path_importer_cache.clear()>>\nlateNN = __import__(f"late_NN_{rank}"); print(lateNN.value)',
)
block(
    "module written in a package",
    'import importlib, lpack.one\nwrite(f"{LIB}/lpack/late_NN_{rank}.py", "value = 2")\nimportlib.invalidate_caches()\nlateNN = importlib.import_module(f"lpack.late_NN_{rank}"); print(lateNN.value, hasattr(lpack, f"late_NN_{rank}"))',
)
block(
    "module rewritten",
    'write(f"{PLACE}/again_NN_{rank}.py", "value = 1")\nagainNN = __import__(f"again_NN_{rank}"); print(againNN.value)\nimport importlib; write(f"{PLACE}/again_NN_{rank}.py", "value = 22")\nprint(importlib.reload(againNN).value)\ndel sys.modules[f"again_NN_{rank}"]; write(f"{PLACE}/again_NN_{rank}.py", "value = 333"); print(__import__(f"again_NN_{rank}").value)',
    place=True,
)
block(
    "existing module rewritten",
    'from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0: write(PLACE + "/params.py", "value = \'rewritten\'")\nMPI.COMM_WORLD.Barrier()\nimport params; print(params.value)',
    place=True,
    mpi=True,
)
block(
    "existing module rewritten to the same size",
    'from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0: write(PLACE + "/params.py", "value = 2   ")\nMPI.COMM_WORLD.Barrier(); sys.dont_write_bytecode = True\nimport params; print(params.value)',
    place=True,
    mpi=True,
)
block(
    "existing module removed",
    'from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0 and os.path.exists(PLACE + "/gone.py"): write("x0", ""); os.remove(PLACE + "/gone.py")\nMPI.COMM_WORLD.Barrier()\ntry: import gone; print("found")\nexcept ImportError as exc: print(repr(exc))',
    place=True,
    mpi=True,
)
block(
    "existing module removed from lib",
    'from mpi4py import MPI\nimport importlib, shutil\nif MPI.COMM_WORLD.rank == 0 and os.path.exists(LIB + "/lgone.py"): write("x1", ""); os.remove(LIB + "/lgone.py"); shutil.rmtree(LIB + "/__pycache__", True)\nMPI.COMM_WORLD.Barrier(); importlib.invalidate_caches()\ntry: import lgone; print("found")\nexcept ImportError as exc: print(repr(exc))',
    mpi=True,
)
block(
    "package made beside a module",
    'from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0: os.makedirs(PLACE + "/kern", exist_ok=True); write(PLACE + "/kern/__init__.py", "value = \'package\'")\nMPI.COMM_WORLD.Barrier()\nimport kern; print(kern.value, kern.__file__.replace(HERE, ""))',
    place=True,
    mpi=True,
)
block(
    "extension made beside a module",
    """
import glob, importlib, shutil, sysconfig
from mpi4py import MPI
foundNN = glob.glob(sysconfig.get_path("stdlib") + "/lib-dynload/xxlimited.*.so")
if MPI.COMM_WORLD.rank == 0 and foundNN: write("x2", ""); shutil.copy(foundNN[0], PLACE + "/xxlimited.so")
MPI.COMM_WORLD.Barrier()
sys.path.insert(0, PLACE); import xxlimited; print(os.path.basename(xxlimited.__file__), hasattr(xxlimited, "value"))
""",
    place=True,
    mpi=True,
)
block(
    "source removed, pyc left",
    'import py_compile\nwrite(f"{PLACE}/less_NN_{rank}.py", "value = 1")\npy_compile.compile(f"{PLACE}/less_NN_{rank}.py", f"{PLACE}/less_NN_{rank}.pyc", doraise=True); os.remove(f"{PLACE}/less_NN_{rank}.py")\nlessNN = __import__(f"less_NN_{rank}"); print(lessNN.value, type(lessNN.__loader__).__mro__[-3].__name__)',
    place=True,
)
block(
    "pyc checked by hash",
    'import py_compile, lone\nwrite(f"{PLACE}/hash_NN_{rank}.py", "value = 1")\npy_compile.compile(f"{PLACE}/hash_NN_{rank}.py", invalidation_mode=py_compile.PycInvalidationMode.<<CHECKED_HASH|UNCHECKED_HASH>>)\nwrite(f"{PLACE}/hash_NN_{rank}.py", "value = 2")\nprint(__import__(f"hash_NN_{rank}").value)',
    place=True,
)
block(
    "directory made and put on the path",
    'os.makedirs(f"{HERE}/made_NN_{rank}", exist_ok=True); write(f"{HERE}/made_NN_{rank}/inside_NN.py", "value = 3")\nsys.path.<<insert(0, |append(>>f"{HERE}/made_NN_{rank}"); import inside_NN; print(inside_NN.value, inside_NN.__file__.replace(HERE, ""))',
)
block(
    "directory on the path before it is made",
    'sys.path.insert(0, f"{HERE}/soon_NN_{rank}")\ntry: import soon_inside_NN\nexcept ImportError as exc: print(repr(exc))\nos.makedirs(f"{HERE}/soon_NN_{rank}"); write(f"{HERE}/soon_NN_{rank}/soon_inside_NN.py", "value = 4"); import importlib; importlib.invalidate_caches()\nimport soon_inside_NN; print(soon_inside_NN.value)',
)
block(
    "relative path entry",
    'sys.path.insert(0, "<<extra|./extra|../work/extra>>"); savedNN = os.getcwd(); os.chdir(HERE); import einside; print(einside.value, einside.__file__, einside.__spec__.origin)\nimport epack.inner; print(epack.inner.__file__, list(epack.__path__)); os.chdir(savedNN)',
)
block(
    "empty path entry",
    'sys.path.insert(0, ""); savedNN = os.getcwd(); os.chdir(HERE + "/extra"); import einside2; print(einside2.__file__.replace(HERE, "")); os.chdir(savedNN)',
)
block(
    "link on the path",
    'os.symlink(LIB, f"{HERE}/link_NN_{rank}"); sys.path.insert(0, f"{HERE}/link_NN_{rank}"); import lfour; print(lfour.__file__.replace(HERE, ""))',
)
block(
    "namespace package grows",
    'import importlib, lspace.one\nos.makedirs(f"{HERE}/grow_NN_{rank}/lspace"); write(f"{HERE}/grow_NN_{rank}/lspace/grown_NN.py", "value = 5"); sys.path.append(f"{HERE}/grow_NN_{rank}")\nimport lspace.grown_NN; print(lspace.grown_NN.value, [p.replace(HERE, "") for p in lspace.__path__])',
)
block(
    "__path__ extended",
    'import lpack\nos.makedirs(f"{HERE}/more_NN_{rank}"); write(f"{HERE}/more_NN_{rank}/extra_NN.py", "value = 6"); lpack.__path__.append(f"{HERE}/more_NN_{rank}")\nimport lpack.extra_NN; print(lpack.extra_NN.value); import pkgutil; print(sorted(m.name for m in pkgutil.iter_modules(lpack.__path__)))',
)
block(
    "zip import",
    'import zipfile\nwith zipfile.ZipFile(f"{HERE}/code_NN_{rank}.zip", "w") as zNN:\n    for entryNN, textNN in (("inzip_NN.py", "value = 7"), ("zpack_NN/__init__.py", ""), ("zpack_NN/data.txt", "text")): zNN.writestr(zipfile.ZipInfo(entryNN), textNN)\nsys.path.insert(0, f"{HERE}/code_NN_{rank}.zip")\nimport inzip_NN, zpack_NN, pkgutil; print(inzip_NN.value, type(inzip_NN.__loader__).__name__, pkgutil.get_data("zpack_NN", "data.txt"), inzip_NN.__file__.replace(HERE, ""))',
)
block(
    "reload",
    "import importlib, lone, lpack.two, <<json|textwrap>> as stdNN\nlone.value = 9; print(importlib.reload(lone).value, importlib.reload(lpack.two) is lpack.two, importlib.reload(stdNN).__name__)",
)
block(
    "imported a second time",
    'import lpack.one; firstNN = lpack.one\nfor nNN in [n for n in sys.modules if n.startswith("lpack")]: del sys.modules[nNN]\nimport lpack.one; print(firstNN is lpack.one, lpack.one.value)',
)
block(
    "executed from a file",
    'import importlib.util, runpy\nspecNN = importlib.util.spec_from_file_location("othername", LIB + "/lone.py"); mNN = importlib.util.module_from_spec(specNN); specNN.loader.exec_module(mNN); print(mNN.value, mNN.__name__)\nprint(runpy.run_path(LIB + "/lone.py")["value"], sorted(runpy.run_module("lpack.two", run_name="<<__main__|other>>"))[:9])',
)
block(
    "lookup without import",
    'import importlib.util, pkgutil\nprint([(n, (lambda s: s and (str(s.origin).replace(HERE, ""), s.has_location, str(s.cached).replace(HERE, "")))(importlib.util.find_spec(n))) for n in ("lone", "lpack", "lpack.two", "lspace", "no_such", "xxlimited2")], sys.modules.get("lone") is None)\nprint(pkgutil.resolve_name("lpack.two:value"))',
)
block(
    "pkgutil walk",
    'import pkgutil, lpack\nprint([(m.name, m.ispkg) for m in pkgutil.walk_packages(lpack.__path__, "lpack.", onerror=lambda n: print("error", n))], sorted(m.name for m in pkgutil.iter_modules([LIB, HERE + "/extra"]) if not m.name.startswith("late_")))\nprint(pkgutil.get_data("lpack", "data.txt"), type(pkgutil.get_importer(LIB)).__mro__[-2].__name__)',
)
block(
    "resources",
    'import importlib.resources as resNN\nprint(resNN.files("lpack").joinpath("data.txt").read_text(), sorted(p.name for p in resNN.files("lpack").iterdir() if p.suffix == ".txt"), resNN.files("lspace").is_dir())\nwith resNN.as_file(resNN.files("lpack") / "data.txt") as pNN: print(str(pNN).replace(HERE, ""))',
)
block(
    "metadata",
    'import importlib.metadata as metaNN\nprint(metaNN.version("<<lpack-dist|mpi4py>>"), sorted(d.metadata["Name"] for d in metaNN.distributions() if d.metadata["Name"]), [e.value for e in metaNN.entry_points(group="lgroup")], metaNN.files("lpack-dist"))\ntry: metaNN.version("no-such")\nexcept metaNN.PackageNotFoundError as exc: print(repr(exc))',
)
block(
    "metadata made at run time",
    'import importlib, importlib.metadata as metaNN\nos.makedirs(f"{LIB}/new{rank}-1.<<0|5>>.dist-info"); write([f"{LIB}/{d}" for d in os.listdir(LIB) if d.startswith(f"new{rank}-")][0] + "/METADATA", f"Metadata-Version: 2.1\\nName: new{rank}\\nVersion: 1.0\\n")\nimportlib.invalidate_caches(); print(metaNN.version(f"new{rank}"))',
)
block(
    "source and lines",
    'import inspect, linecache, lone, lpack.two\nprint(inspect.getsource(lpack.two.function), linecache.getline(lone.__file__, 1), inspect.getmodule(lpack.two.function).__name__, inspect.getsourcefile(lone).replace(HERE, ""), lpack.two.function.__code__.co_filename.replace(HERE, ""))',
)
block(
    "pth added",
    'import site\nos.makedirs(f"{HERE}/site_NN_{rank}/sub"); write(f"{HERE}/site_NN_{rank}/a.pth", "sub\\nimport sys; print(\'pth runs\')\\n"); write(f"{HERE}/site_NN_{rank}/sub/fromsub_NN.py", "value = 8")\nsite.addsitedir(f"{HERE}/site_NN_{rank}"); import fromsub_NN; print(fromsub_NN.value)',
)
block(
    "path edited",
    'sys.path.<<reverse()|remove(LIB)|insert(0, sys.path.pop())|append(LIB)|insert(0, HERE + "/extra")>>\nfor nNN in ("lone", "clash", "einside"):\n    try: print(__import__(nNN).__file__.replace(HERE, ""))\n    except ImportError as exc: print(repr(exc))',
)
block(
    "standard library module shadowed",
    'write(f"{PLACE}/<<colorsys|nturl2path|sndhdr>>.py", "value = \'shadow\'", "w")\nimport importlib; importlib.invalidate_caches()\nfor nNN in ("colorsys", "nturl2path"): print(__import__(nNN).__file__.replace(HERE, "").rpartition("/")[2], hasattr(sys.modules[nNN], "value"))',
    place=True,
)

# The current directory and descriptors.

block(
    "chdir",
    'os.chdir(HERE + "/<<sub|extra|lib>>"); import lone; open(f"here.NN.{rank}", "w").write("x"); print(os.getcwd().replace(HERE, ""))\ntry: import subinside; print(subinside.__file__.replace(HERE, ""))\nexcept ImportError as exc: print(repr(exc))',
)
block(
    "current directory removed",
    'os.makedirs(f"{HERE}/gone_NN_{rank}"); os.chdir(f"{HERE}/gone_NN_{rank}"); os.rmdir(f"{HERE}/gone_NN_{rank}")\nimport lthree, wave\ntry: print(os.getcwd())\nexcept OSError as exc: print(repr(exc))\nos.chdir(HERE)',
)
block(
    "stdin closed",
    'os.close(0); sNN = open(f"zero.NN.{rank}", "w"); print(sNN.fileno()); sNN.write("zero")',
    main=True,
    apart=True,
)
block("stdout closed", 'print("last"); sys.stdout.<<close()|flush(); os.close(1)>>', main=True, apart=True)
block("stderr closed", "sys.stderr.<<close()|flush(); os.close(2)>>", main=True, apart=True)
block(
    "all closed in a forked child",
    'sys.stdout.flush(); pidNN = os.fork()\nif pidNN == 0:\n    os.closerange(3, 256)\n    import lone, lthree, wave\n    os.write(1, b"child imports\\n"); os._exit(lone.value)\nprint(os.waitpid(pidNN, 0)[1])',
)
block(
    "high descriptors closed",
    'os.closerange(128, 256); import lone, lthree, wave; print(open(HERE + "/data.txt").read())',
    apart=True,
)
block(
    "standard files as they were",
    'with open(f"standard.NN.{rank}", "w") as fNN:\n    for nNN in (0, 1, 2):\n        try: print(nNN, oct(os.fstat(nNN).st_mode), file=fNN)\n        except OSError as exc: print(nNN, exc, file=fNN)',
    apart=True,
    main=True,
)
block(
    "written to closed standard files",
    'for nNN in (1, 2):\n    try: os.write(nNN, b"straight\\n")\n    except OSError: pass\nimport lone, lthree, wave',
    main=True,
)
block(
    "standard files closed",
    'sys.stdout.flush()\nfor fNN in (0, 1, 2): os.close(fNN)\nsys.stdout = open(f"new1.NN.{rank}", "w"); print(sys.stdout.fileno()); import lthree',
    apart=True,
    main=True,
)
block(
    "a descriptor with nothing imported",
    'fNN = os.open(HERE + "/data.txt", 0); print(fNN > 2, os.get_inheritable(fNN)); os.close(fNN)',
    apart=True,
)
block(
    "umask and limits",
    'import resource; mNN = os.umask(0o<<027|077>>); print(oct(mNN)); open(f"mode.NN.{rank}", "w").close(); print({n: resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith("RLIMIT_")}, os.getpriority(0, 0), os.sched_getscheduler(0), len(os.sched_getaffinity(0)))',
)
block(
    "files limited",
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); import lone, lpack.one, wave; print(lone.value)",
)
block(
    "address space limited",
    "import resource; resource.setrlimit(resource.RLIMIT_<<AS|DATA>>, (4 << 30, 4 << 30)); import lone, decimal, lpack.two; print(len(bytearray(1 << 24)))",
)
block(
    "file size limited",
    'import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); import lone, lthree\ntry:\n    with open(f"limited.NN.{rank}", "wb") as fNN: fNN.write(b"x" * 9000)\nexcept OSError as exc: print(repr(exc))',
    apart=True,
)

# Other processes.

block(
    "fork",
    'sys.stdout.flush(); pidNN = os.fork()\nif pidNN == 0:\n    import lthree, wave; print("child", lthree.value, flush=True); os._exit(3)\nprint("status", os.waitpid(pidNN, 0)[1])',
)
block(
    "forked child ends by itself",
    'sys.stdout.flush(); sys.stderr.flush(); pidNN = os.fork()\nif pidNN == 0:\n    print("child"); sys.exit(<<0|7>>)\nprint("status", os.waitpid(pidNN, 0)[1])',
    main=True,
    apart=True,
)
block(
    "forked child raises",
    'sys.stdout.flush(); pidNN = os.fork()\nif pidNN == 0: raise ValueError("in the child")\nprint("status", os.waitpid(pidNN, 0)[1])',
    main=True,
    apart=True,
)
block(
    "forked child runs a program",
    'sys.stdout.flush(); pidNN = os.fork()\nif pidNN == 0: os.execv(sys.executable, [sys.executable, "-c", "import lone; print(lone.value, flush=True)"])\nprint("status", os.waitpid(pidNN, 0)[1])',
)
block(
    "fork handlers",
    'sys.stdout.flush(); os.register_at_fork(before=lambda: print("before", flush=True), after_in_parent=lambda: print("parent"), after_in_child=lambda: os.close(0))\npidNN = os.fork()\nif pidNN == 0: os._exit(0)\nos.waitpid(pidNN, 0)',
)
block(
    "subprocess",
    'import subprocess\nprint(subprocess.run([sys.executable, "-c", "import sys, lone, lpack.one; print(lone.value, sys.argv, sys.flags.no_site, \'mpi4py\' in sys.modules, type(lone.__loader__).__name__)", "a"], capture_output=True, text=True))',
)
block(
    "subprocess of a script",
    'import subprocess; print(subprocess.run([sys.executable, HERE + "/child.py", "argument"], capture_output=True, text=True, <<cwd=HERE + "/sub"|close_fds=False|start_new_session=True|preexec_fn=os.setsid>>).stdout)',
)
block(
    "shell",
    'sys.stdout.flush(); print(os.system("<<exit 3|echo text|kill -9 $$>>")); print(os.popen("echo from a pipe; exit 2").read())',
)
block(
    "posix_spawn",
    'sys.stdout.flush(); pidNN = os.posix_spawn(sys.executable, [sys.executable, "-c", "print(1)"], os.environ); print(os.waitpid(pidNN, 0)[1], os.spawnv(os.P_WAIT, "/bin/true", ["true"]))',
)
block(
    "environment of a child",
    'import subprocess; os.environ["OURS_NN"] = "1"; print(sorted(n for n in subprocess.run(["env"], capture_output=True, text=True, errors="replace").stdout.splitlines() if not n.startswith(("PMI", "HYD", "OMPI_", "PRTE", "SLURM", "I_MPI", "MPIIMPORT", "PYTHONPATH", "_=", "SHLVL", "MPI_", "GTOOL"))))',
)
block(
    "multiprocessing",
    """
import multiprocessing
if __name__ == "__main__":
    contextNN = multiprocessing.get_context("<<fork|spawn|forkserver>>")
    with contextNN.Pool(2) as poolNN: print(sorted(poolNN.map(abs, [-1, -2])))
    import lwork
    queueNN = contextNN.SimpleQueue(); childNN = contextNN.Process(target=lwork.put, args=(queueNN, rank)); childNN.start(); print(queueNN.get()); childNN.join(); print(childNN.exitcode)
""",
    main=True,
)
block(
    "process pool left",
    'from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing\nif __name__ == "__main__":\n    poolNN = ProcessPoolExecutor(1, multiprocessing.get_context("<<fork|forkserver>>")); print(poolNN.submit(abs, -3).result())',
    main=True,
)
block(
    "exec that fails",
    """
for callNN in (lambda: os.execv("/no/such", ["x"]), lambda: os.execv(HERE + "/data.txt", ["x"]), lambda: os.execvp("no-such-program", ["x"]), lambda: os.execv(HERE + "/noshebang", ["x"]), lambda: os.execv("/bin/true", ["a" * (1 << 22)]), lambda: os.execve("/bin/true", [], {}), lambda: os.execv(sys.executable, ["p", "-c", "pass\\0"])):
    try: callNN()
    except Exception as exc: print(type(exc).__name__, str(exc).replace(HERE, ""))
""",
)

# Encodings and names.

block("modules with other names", "import lmod\u00fcl; print(ascii(lmod\u00fcl.__name__), lmod\u00fcl.value)")
block(
    "source encodings",
    'import llatin, lbom; print(ascii(llatin.value), ascii(lbom.value), llatin.__loader__.get_source("llatin")[:20])\ntry: import lbadcookie\nexcept SyntaxError as exc: print(exc.msg.replace(HERE, ""))',
)
block(
    "directory that is not UTF-8",
    'dNN = os.fsencode(HERE) + b"/caf\\xe9_NN_%d" % rank; os.makedirs(dNN); open(dNN + b"/incafe_NN.py", "w").write("value = 1\\ndef f(): raise KeyError"); sys.path.insert(0, os.fsdecode(dNN))\nimport incafe_NN; print(ascii(incafe_NN.__file__.replace(HERE, "")), os.listdir(dNN)[0][:6])',
)
block(
    "file names that are not UTF-8",
    'open(os.fsencode(f"name.NN.{rank}.") + b"\\xff", "w").write("x"); print(ascii([n for n in os.listdir(".") if n.startswith(f"name.NN.{rank}")]))',
)
block(
    "other characters printed",
    'try: print("\\u00e9\\u20ac")\nexcept UnicodeEncodeError as exc: print(exc.encoding)\nprint(sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors, sys.stdin and sys.stdin.encoding, sys.getfilesystemencoding(), sys.stdout.line_buffering, sys.stdout.write_through)',
    main=True,
)
block(
    "locale",
    'import locale; print(locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), locale.localeconv()["decimal_point"])\ntry: print(locale.setlocale(locale.LC_ALL, "<<C|C.UTF-8|>>"))\nexcept locale.Error as exc: print(exc)',
)

# The program, the interpreter and the environment.

block(
    "arguments",
    'print(ascii(sys.argv).replace(HERE, "")); import argparse; argparse.ArgumentParser().print_usage()',
    main=True,
)
block("original arguments", 'print(ascii(sys.orig_argv[1:]).replace(HERE, ""))', main=True)
block(
    "argparse fails",
    'import argparse\ntry: argparse.ArgumentParser().parse_args(["--nonsense"])\nexcept SystemExit as exc: print(exc.code)',
    main=True,
)
block(
    "interpreter",
    'print(sys.flags, sys.warnoptions, sys._xoptions, sys.executable, sys.prefix, sys.getdlopenflags(), sys.getrecursionlimit(), sys.gettrace(), sys.getprofile(), sys.displayhook is sys.__displayhook__, sys.dont_write_bytecode, sys.pycache_prefix, sys.platlibdir, sys.tracebacklimit if hasattr(sys, "tracebacklimit") else None, hasattr(sys, "ps1"), sys.unraisablehook is sys.__unraisablehook__, sys.breakpointhook is sys.__breakpointhook__, sys.is_finalizing(), sys.flags.hash_randomization)',
    main=True,
)
block(
    "names in main",
    'print(sorted(n for n in vars() if not n[-1:].isdigit())); mNN = sys.modules["__main__"]; print(repr(mNN.__doc__), mNN.__package__, str(getattr(mNN, "__file__", None)).replace(HERE, ""), mNN.__spec__ and mNN.__spec__.name, type(mNN.__builtins__).__name__, getattr(mNN, "__cached__", 0), type(mNN.__loader__).__mro__[-2:] and getattr(mNN, "__annotations__", None))',
    main=True,
)
block(
    "search path",
    'print([p.replace(HERE, "") for p in sys.path if p.startswith(HERE) or not p.startswith("/")], sys.path[-2:], sys.path[0].replace(HERE, ""))',
    main=True,
)
block(
    "site",
    'import builtins; print([n for n in ("exit", "quit", "copyright", "credits", "license", "help") if hasattr(builtins, n)], "site" in sys.modules, "sitecustomize" in sys.modules, "usercustomize" in sys.modules); import site; print(site.ENABLE_USER_SITE, site.PREFIXES, site.USER_SITE, site.getsitepackages())',
    main=True,
)
block(
    "environment",
    'print(sorted(f"{k}={v}" if not k.startswith(("PMI", "HYD", "OMPI_", "PRTE", "SLURM", "I_MPI", "_", "SHLVL")) else k for k, v in os.environ.items() if not k.startswith(("MPIIMPORT", "PYTHONPATH"))))',
)
block(
    "frames",
    "import traceback; print([(os.path.basename(f.filename), f.name) for f in traceback.extract_stack()])",
    main=True,
)
block(
    "logging finds its caller",
    'import logging; logging.basicConfig(format="%(filename)s:%(lineno)d %(funcName)s %(module)s %(message)s"); logging.warning("warned")',
)
block(
    "modules and types pickled",
    "import pickle\nclass MineNN: value = 1\ntry: print(pickle.loads(pickle.dumps(MineNN())).value, len(pickle.dumps(MineNN)))\nexcept Exception as exc: print(type(exc).__name__)",
    main=True,
)
block("doctest", "import doctest, lpack.two; print(doctest.testmod(lpack.two))")
block(
    "unittest",
    'import unittest\nclass CaseNN(unittest.TestCase):\n    def test_it(self): self.assertEqual(1, 1)\nrNN = unittest.TextTestRunner(open(os.devnull, "w")).run(unittest.defaultTestLoader.loadTestsFromTestCase(CaseNN)); print(rNN)\nprint(unittest.defaultTestLoader.discover(LIB + "/lpack", "two.py", top_level_dir=LIB).countTestCases())',
)
block(
    "typing and annotations",
    'import dataclasses, typing\n@dataclasses.dataclass\nclass DataNN:\n    a: "typing.List[int]" = None\nprint(DataNN(), typing.get_type_hints(DataNN))',
)
block(
    "sysconfig",
    'import sysconfig, platform; print(sysconfig.get_config_var("EXT_SUFFIX"), sysconfig.get_paths()["purelib"], len(sysconfig.get_config_vars()), platform.python_version(), sysconfig.get_path("include"))',
)
block(
    "ctypes",
    'import ctypes, ctypes.util\nprint(ctypes.CDLL(None).getpid() == os.getpid(), ctypes.util.find_library("c"), ctypes.CDLL("libc.so.6", use_errno=True)._name)\ntry: ctypes.CDLL("libno_such.so")\nexcept OSError as exc: print(exc)',
)
block(
    "random and time",
    'import random, time; random.seed(NN); print(random.random(), hash("a") == hash("a"), time.tzname, time.strftime("%Y", time.gmtime(0)))',
)
block(
    "numpy",
    'import numpy; print(numpy.arange(3).sum(), numpy.random.default_rng(3).random(), numpy.__file__, numpy.show_config.__name__); numpy.save(f"array.NN.{rank}.npy", numpy.arange(100))',
)
block(
    "compiled and executed",
    'exec(compile("import lone as a_NN\\nprint(a_NN.value, __name__ == globals()[\'__name__\'])", "<made>", "exec"))',
)
block("star import", 'exec("from lpack.two import *\\nfrom lall import *"); print(value, exported)', main=True)
block(
    "relative imports",
    "import lpack.inner.deep; print(lpack.inner.deep.up, lpack.inner.deep.__package__, lpack.inner.deep.__spec__.parent)",
)
block(
    "module getattr",
    "import ldynamic; print(ldynamic.anything, dir(ldynamic)); from ldynamic import other; print(other)",
)
block(
    "sys.modules replaced by the module", 'import lswap; print(lswap, lswap.value if hasattr(lswap, "value") else None)'
)
block("pdb and code", 'import code; code.InteractiveInterpreter({"x": 1}).runsource("print(x + 1)")')
block("recursion", "def deepNN(n): return deepNN(n + 1)\ntry: deepNN(0)\nexcept RecursionError as exc: print(exc)")
block(
    "tracemalloc",
    'import tracemalloc; print(tracemalloc.is_tracing()); tracemalloc.start(); import lone, lpack.one; print([s.traceback[0].filename.replace(HERE, "") for s in tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*lone.py")]).statistics("filename")]); tracemalloc.stop()',
)
block("help", 'import pydoc; print(pydoc.plain(pydoc.render_doc("lpack.two")).replace(HERE, ""))')
block(
    "deprecated frozen",
    "import _frozen_importlib_external as fNN, importlib._bootstrap_external as eNN, importlib.machinery as mNN; print(fNN is eNN, fNN.FileFinder is mNN.FileFinder, fNN._get_supported_file_loaders()[1][0] is mNN.SourceFileLoader, len(sys.meta_path))",
)
block(
    "pycache prefix",
    'sys.pycache_prefix = f"{HERE}/cache_NN_{rank}"; import lfour, lthree; print(lfour.__cached__.replace(HERE, ""), lfour.__spec__.cached.replace(HERE, ""))',
)
block("no bytecode", "sys.dont_write_bytecode = True; import lfour, lsource; print(lfour.value)")
block(
    "compileall",
    'import compileall, shutil; shutil.copytree(LIB + "/lpack/inner", f"{HERE}/inner_NN_{rank}"); print(compileall.compile_dir(f"{HERE}/inner_NN_{rank}", quiet=2, <<workers=1|optimize=2>>))',
)

# MPI.

block(
    "collectives",
    'from mpi4py import MPI\ncommNN = MPI.COMM_WORLD; print(commNN.size, commNN.allreduce(rank), commNN.bcast({"a": [1]} if rank == 0 else None), commNN.gather(rank), commNN.rank == rank); commNN.Barrier()',
    mpi=True,
)
block(
    "messages",
    'from mpi4py import MPI\ncNN = MPI.COMM_WORLD; rNN = cNN.isend(["message", rank], rank ^ 1, tag=NN); print(cNN.recv(source=rank ^ 1, tag=NN)); rNN.wait()',
    mpi=True,
)
block(
    "communicators left",
    "from mpi4py import MPI\nsplitNN = MPI.COMM_WORLD.Split(rank, 0); dupNN = MPI.COMM_WORLD.Dup(); print(splitNN.size, dupNN.Get_name(), MPI.COMM_WORLD.Get_name())",
    mpi=True,
)
block(
    "state of MPI",
    'import mpi4py, mpi4py.rc\nprint(mpi4py.rc, "mpi4py.MPI" in sys.modules)\nfrom mpi4py import MPI\nprint(MPI.Is_initialized(), MPI.Is_finalized(), MPI.Query_thread(), MPI.Is_thread_main(), MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN, MPI.__file__, type(MPI.__loader__).__mro__[-3].__name__, MPI.__spec__.name)',
    mpi=True,
)
block(
    "MPI set up by hand",
    'import mpi4py\nif "mpi4py.MPI" not in sys.modules:\n    mpi4py.rc(initialize=False, <<finalize=False|finalize=True|finalize=None>>)\n    from mpi4py import MPI\n    print(MPI.Is_initialized())\n    <<MPI.Init()|print(MPI.Init_thread(MPI.THREAD_FUNNELED) >= 1)|MPI.Init_thread()>>\n    print(MPI.Is_initialized(), MPI.COMM_WORLD.allreduce(1)); <<MPI.Finalize()|pass|pass>>\n    print(MPI.Is_finalized())',
    mpi=True,
)
block(
    "MPI errors",
    "from mpi4py import MPI\ntry: MPI.COMM_WORLD.send(1, dest=99)\nexcept MPI.Exception as exc: print(exc.Get_error_class() == MPI.ERR_RANK, type(exc).__name__)",
    mpi=True,
)
block(
    "callback at the end of MPI",
    'from mpi4py import MPI\ndef freedNN(c, k, v): print("attribute deleted")\nkeyNN = MPI.Comm.Create_keyval(delete_fn=freedNN); MPI.COMM_SELF.Set_attr(keyNN, 1)',
    mpi=True,
)
block(
    "window",
    'from mpi4py import MPI\nwNN = MPI.Win.Allocate_shared(<<4096|1 << 20>>, comm=MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)); mNN = wNN.Shared_query(0)[0]; wNN.Fence()\nif rank == 0: mNN[0:1] = b"z"\nwNN.Fence(); print(bytes(mNN[0:1])); <<wNN.Free()|pass>>',
    mpi=True,
)
block(
    "MPI in a thread",
    "import threading\nfrom mpi4py import MPI\nif MPI.Query_thread() == MPI.THREAD_MULTIPLE:\n    tNN = threading.Thread(target=lambda: print(MPI.COMM_WORLD.allreduce(2), MPI.Is_thread_main())); tNN.start(); tNN.join()",
    mpi=True,
)
block(
    "MPI file",
    'from mpi4py import MPI\nfNN = MPI.File.Open(MPI.COMM_WORLD, f"{HERE}/mpifile.NN", MPI.MODE_CREATE | MPI.MODE_WRONLY); fNN.Write_at_all(rank * 4, b"%04d" % rank); fNN.Close()',
    mpi=True,
)
block(
    "other modules of mpi4py",
    'import mpi4py.util.pkl5, mpi4py.futures, mpi4py.util.dtlib; from mpi4py import MPI; print(mpi4py.util.pkl5.Intracomm(MPI.COMM_WORLD).bcast("five"), mpi4py.get_include()[-7:], mpi4py.__version__, mpi4py.get_config())',
    mpi=True,
)
block(
    "fork under MPI",
    "from mpi4py import MPI\nsys.stdout.flush(); pidNN = os.fork()\nif pidNN == 0: print(MPI.Is_initialized(), flush=True); os._exit(0)\nos.waitpid(pidNN, 0); MPI.COMM_WORLD.Barrier()",
    mpi=True,
)
block(
    "MPI ended by the program",
    "from mpi4py import MPI\nif not MPI.Is_finalized(): MPI.Finalize()\nprint(MPI.Is_finalized(), MPI.Is_initialized()); import lone, wave, lthree",
    mpi=True,
)

# Endings.

block(
    "end: status",
    "sys.exit(<<None|0|3|True|-1|256 + rank|'a message'|[1, 2]|1.5|('a', 1)|2 + rank|rank|4 * rank>>)",
    ending=True,
)
block("end: quit", "<<quit(3)|exit()|raise SystemExit(4)|raise SystemExit>>", ending=True)
block("end: subclass of SystemExit", "class EndNN(SystemExit): code = 6\nraise EndNN()", ending=True)
block(
    "end: _exit",
    "print('flushed', flush=True); leftNN = open(f'lost.NN.{rank}', 'w'); leftNN.write('lost'); os._exit(<<0|5|rank + 2>>)",
    ending=True,
    apart=True,
)
block(
    "end: exception",
    "<<raise ValueError('uncaught')|1 / 0|import no_such_module|import lraises|import lbroken|raise KeyError|assert not True, 'asserted'>>",
    ending=True,
    uncaught=True,
)
block(
    "end: chained exception",
    "try: {}['a']\nexcept KeyError as exc: raise RuntimeError('chained') from <<exc|None>>",
    ending=True,
    uncaught=True,
)
block(
    "end: exception that cannot be printed",
    "class BadNN(Exception):\n    def __str__(self): raise ValueError('no text')\nraise BadNN()",
    ending=True,
    uncaught=True,
)
block(
    "end: excepthook",
    "def hookNN(t, v, tb): print('hook', t.__name__, v, file=sys.stderr)\nsys.excepthook = hookNN\nraise ValueError('hooked')",
    ending=True,
    uncaught=True,
)
block(
    "end: excepthook ends",
    "def hookNN(t, v, tb): print('hook'); sys.exit(9)\nsys.excepthook = hookNN\nraise ValueError('hooked')",
    ending=True,
    uncaught=True,
)
block(
    "end: exception with a note",
    "errorNN = ValueError('noted'); getattr(errorNN, 'add_note', print)('a note'); raise errorNN",
    ending=True,
    uncaught=True,
)
block("end: deep recursion", "def deepNN(n): return deepNN(n + 1)\ndeepNN(0)", ending=True, uncaught=True)
block("end: base exception", "raise <<BaseException('base')|GeneratorExit>>", ending=True, uncaught=True)
block(
    "end: exec",
    "sys.stdout.flush(); os.execv(sys.executable, [sys.executable, '-c', 'import sys, lone; print(\"became\", lone.value, sys.argv); sys.exit(<<0|2>>)', 'a'])",
    ending=True,
    apart=True,
)
block(
    "end: exec of a shell",
    "sys.stdout.flush(); os.execlp('sh', 'sh', '-c', 'echo became a shell; exit <<0|1>>')",
    ending=True,
    apart=True,
)
block(
    "end: Abort",
    "from mpi4py import MPI\nprint('aborts', flush=True); MPI.COMM_WORLD.Barrier(); MPI.COMM_WORLD.Abort(<<3|0|42>>)",
    ending=True,
    mpi=True,
)
block(
    "end: Finalize and _exit",
    "from mpi4py import MPI\nif not MPI.Is_finalized(): MPI.Finalize()\nprint('finalized', flush=True)\n# Hydra kills the others when one has ended.\nimport time; time.sleep(0.5); os._exit(0)",
    ending=True,
    mpi=True,
)
block(
    "end: exception in a thread and status",
    "import threading\ndef failNN(): raise ValueError('in a thread')\ntNN = threading.Thread(target=failNN); tNN.start(); tNN.join(); sys.exit(<<0|3>>)",
    ending=True,
)
block(
    "end: exit in atexit",
    "import atexit; atexit.register(lambda: os._exit(<<0|6>>)); print('ends', flush=True)",
    ending=True,
    apart=True,
)
block("end: thread ends", "import _thread; print('exits the thread'); _thread.exit()", ending=True)
block("end: rank 1 later", "import time; time.sleep(0.2 * rank); print('later')", ending=True)

# Corners of the end, of the search path, and of what programs do to the interpreter.

block(
    "end: excepthook raises",
    """
def hookNN(kind, value, traceback):
    raise LookupError("in the hook")
sys.excepthook = hookNN
raise ValueError("hooked")
""",
    ending=True,
    uncaught=True,
)
block(
    "end: no excepthook",
    "<<del sys.excepthook|sys.excepthook = None>>\nraise ValueError('not hooked')",
    ending=True,
    uncaught=True,
)
block(
    "end: exception with streams gone",
    "<<sys.stdout.close()|sys.stdout = None|sys.stderr = None|sys.stderr.close()|del sys.stdout|sys.stdin = None>>\nraise ValueError('uncaught')",
    ending=True,
    uncaught=True,
)
block(
    "end: status with streams gone",
    "<<sys.stdout.close()|sys.stdout = None|sys.stderr = None|sys.stderr.close()|del sys.stdout>>\nsys.exit(<<'a message'|3|0>>)",
    ending=True,
)
block("end: stdout that cannot be flushed", "sys.stdout = open('/dev/full', 'w'); print('lost')", ending=True)
block("end: syntax error in the program", "valueNN = (\n", ending=True, uncaught=True)
block(
    "end: interactive",
    "os.environ['PYTHONINSPECT'] = '1'; <<pass|raise ValueError('inspected')|sys.exit(3)>>",
    ending=True,
    apart=True,
    uncaught=True,
)
block(
    "end: main replaced",
    "import types\n<<sys.modules['__main__'] = types.ModuleType('other')|del sys.modules['__main__']|sys.modules['__main__'] = None|sys.modules.clear()>>",
    ending=True,
)
block(
    "end: names cleared",
    "import atexit; atexit.register(print, 'cleared'); keptNN = open(f'kept.NN.{rank}', 'w'); keptNN.write('kept'); <<globals().clear()|del os, sys>>",
    ending=True,
)
block("end: traced", "sys.<<settrace|setprofile>>(lambda f, e, a: None)", ending=True)
block("end: children left", "import subprocess; leftNN = subprocess.Popen(['sleep', '0.1'])", ending=True)
block(
    "end: thread raises later",
    "import threading, time\ndef lateNN(): threading.main_thread().join(); raise ValueError('after main')\nthreading.Thread(target=lateNN, name='later').start(); sys.exit(<<0|3>>)",
    ending=True,
)
block("end: nested SystemExit", "try: raise ValueError\nfinally: sys.exit(<<3|'text'>>)", ending=True)
block(
    "end: exception group",
    "raise ExceptionGroup('several', [ValueError(1), KeyError('a')]) if sys.version_info >= (3, 11) else ValueError(1)",
    ending=True,
    uncaught=True,
)
block(
    "end: exception of a class made here",
    "class OwnNN(Exception): pass\nraise OwnNN('own', 1)",
    ending=True,
    uncaught=True,
)
block(
    "end: warning as an error",
    "import warnings; warnings.simplefilter('error'); warnings.warn('raised')",
    ending=True,
    uncaught=True,
)
block(
    "end: last values",
    "import atexit; atexit.register(lambda: print(sys.last_type.__name__, sys.last_value, sys.last_traceback.tb_frame.f_code.co_name, sys.last_traceback.tb_next))\nraise ValueError('last')",
    ending=True,
    uncaught=True,
)
block(
    "imports in __del__",
    "class LastNN:\n    def __del__(self):\n        try: import lfour; print('imported', lfour.value)\n        except BaseException as exc: print(type(exc).__name__)\nlastNN = LastNN(); <<del lastNN|pass>>",
)
block(
    "imports in a signal handler",
    "import signal\ndef handlerNN(n, f):\n    import lthree, wave; print('handler', lthree.value)\nsignal.signal(signal.SIGALRM, handlerNN); signal.setitimer(signal.ITIMER_REAL, 0.03)\nimport time; time.sleep(0.1); import lpack.two",
)
block(
    "imports in a weakref callback",
    "import weakref\nclass DiesNN: pass\ndNN = DiesNN(); rNN = weakref.ref(dNN, lambda r: print(__import__('lpack.two').__name__)); del dNN",
)
block(
    "low recursion limit",
    "limitNN = sys.getrecursionlimit(); sys.setrecursionlimit(<<90|120|200>>)\ntry: import lfour, lpack.inner.deep, colorsys; print('imported')\nexcept RecursionError as exc: print('too deep')\nsys.setrecursionlimit(limitNN)",
    main=True,
)
block(
    "finders removed",
    "savedNN = sys.meta_path[:]; <<sys.meta_path.clear()|del sys.meta_path[-1]|sys.meta_path = []>>\ntry: import lfour; print(lfour.value)\nexcept ImportError as exc: print(exc)\nsys.meta_path = savedNN; import lthree; print(lthree.value)",
)
block(
    "importer cache replaced",
    "sys.path_importer_cache = {}; import lfour, lpack.one; print(lfour.value, LIB in sys.path_importer_cache)",
)
block(
    "path hooks replaced",
    "savedNN = sys.path_hooks; sys.path_hooks = <<list(savedNN)|savedNN + []>>; import lfour, lpack.one; print(lfour.value, sys.path_hooks is savedNN)",
)
block(
    "search path replaced",
    "savedNN = sys.path; sys.path = <<[LIB]|list(savedNN)|[]>>\ntry: import lfour, lpack.two; print(lfour.__file__.replace(HERE, ''))\nexcept ImportError as exc: print(exc)\nsys.path = savedNN",
)
block(
    "other things on the path",
    "import pathlib; sys.path[0:0] = [<<pathlib.Path(HERE + '/extra')|b'/bytes'|None|3|HERE + '/extra/'|HERE + '//extra'|HERE + '/lib/../extra'|HERE + '/no/such'|HERE + '/data.txt'|'~'>>]\nfor nNN in ('einside', 'lfour'):\n    try: print(__import__(nNN).__file__.replace(HERE, ''))\n    except ImportError as exc: print(exc)\ndel sys.path[0]",
)
block(
    "abstract base classes of loaders",
    "import importlib.abc as abcNN, importlib.machinery as machNN, lone, lpack\nprint([c.__name__ for c in (abcNN.Loader, abcNN.InspectLoader, abcNN.ExecutionLoader, abcNN.SourceLoader, abcNN.FileLoader) if isinstance(lone.__loader__, c)], isinstance(sys.path_importer_cache[LIB], abcNN.PathEntryFinder), machNN.all_suffixes(), lpack.__spec__.submodule_search_locations == lpack.__path__, type(lpack.__path__).__name__)",
)
block(
    "old ways to load",
    "import warnings; warnings.simplefilter('ignore')\nimport pkgutil, lone\nprint(getattr(pkgutil, 'find_loader', lambda n: None)('lpack.two') is None, lone.__loader__.load_module('lone').value if hasattr(lone.__loader__, 'load_module') else '-')",
)
block(
    "main imported",
    "import __main__; from __main__ import rank as rankNN; print(__main__.rank == rankNN, __main__ is sys.modules['__main__'])",
    main=True,
)
block(
    "standard input",
    "print(ascii(sys.stdin and sys.stdin.read()[:30]))\ntry: input()\nexcept (EOFError, RuntimeError) as exc: print(repr(exc))",
    main=True,
)
block(
    "spawned function of main",
    "import multiprocessing\ndef spawnedNN(): return 'spawned'\nif __name__ == '__main__' and getattr(sys.modules['__main__'], '__file__', None) and __file__.endswith('app.py') and '-' not in sys.argv[:1]:\n    with multiprocessing.get_context('spawn').Pool(1) as poolNN: print(poolNN.apply(spawnedNN))",
    main=True,
)
block(
    "manager and shared memory",
    "import multiprocessing, multiprocessing.shared_memory as sharedNN\nif __name__ == '__main__':\n    with multiprocessing.get_context('fork').Manager() as managerNN: dNN = managerNN.dict(a=1); print(dict(dNN))\n    mNN = sharedNN.SharedMemory(create=True, size=100); mNN.buf[0] = 1; mNN.close(); mNN.unlink()",
    main=True,
)
block(
    "session and priority",
    "<<os.setsid() if os.getpgrp() != os.getpid() else None|os.nice(1)>>; import lone; print(os.getpriority(0, 0))",
)
block(
    "command line of the process",
    "print(open('/proc/self/comm').read(), os.path.basename(os.readlink('/proc/self/exe')))",
)
block(
    "user's own sitecustomize",
    "print(getattr(sys, 'customized', None), getattr(sys.modules.get('sitecustomize'), 'value', None), str(getattr(sys.modules.get('sitecustomize'), '__file__', None)).replace(HERE, ''))",
    {
        "lib/sitecustomize.py": "import sys\nsys.customized = sorted(name for name in ('site', 'mpi4py') if name in sys.modules)\nvalue = 'the user\\'s own'\n"
    },
    main=True,
)
block(
    "usercustomize",
    "print(getattr(sys, 'by_user', None))",
    {"lib/usercustomize.py": "import sys\nsys.by_user = True\n"},
    main=True,
)
block(
    "memory and files mapped",
    "import resource; bigNN = bytearray(1 << 26); print(len(bigNN), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0)",
)
block(
    "module's own pickling",
    "import pickle, copyreg, lpack.two; print(pickle.loads(pickle.dumps(lpack.two.function)) is lpack.two.function, copyreg.dispatch_table.keys() == {complex} or len(copyreg.dispatch_table) > 0)",
)
block(
    "code objects compared",
    "import lone, lpack.two, marshal\ncNN = lpack.two.function.__code__; oNN = compile(open(lpack.two.__file__).read(), lpack.two.__file__, 'exec', dont_inherit=True)\nprint(lpack.two.__loader__.get_code('lpack.two') == oNN, cNN.co_firstlineno, cNN.co_filename == lpack.two.__file__, sys.intern('function') is cNN.co_name)",
)
block(
    "stat seen by pyc",
    "import lfour\nsNN = os.stat(lfour.__file__); print(lfour.__loader__.path_stats(lfour.__file__) == {'mtime': sNN.st_mtime, 'size': sNN.st_size}, lfour.__loader__.path_mtime(lfour.__file__) == sNN.st_mtime)",
)
block(
    "cached attribute wrong on purpose",
    "import lfour, importlib; lfour.__file__ = '/no/such'; lfour.__cached__ = 3; lfour.__path__ = []; print(importlib.reload(lfour).__file__.replace(HERE, ''))",
)
block(
    "builtins replaced",
    "import builtins; oldNN = builtins.open; seenNN = []\ndef openNN(*a, **k): seenNN.append(str(a[0]).replace(HERE, '')); return oldNN(*a, **k)\nbuiltins.open = openNN; import lfour, lpack.two, importlib.resources as rNN; print(rNN.files('lpack').joinpath('data.txt').read_text()); builtins.open = oldNN; print(seenNN)",
)
block(
    "os functions replaced",
    "oldNN = os.stat, os.listdir; seenNN = []\nos.stat = lambda *a, **k: seenNN.append('stat') or oldNN[0](*a, **k); os.listdir = lambda *a: seenNN.append('listdir') or oldNN[1](*a)\nimport lfour, lpack.inner.deep; os.stat, os.listdir = oldNN; print(seenNN)",
)
block("io.open_code hook", "import io; print(io.open_code(LIB + '/lfour.py').read()); import lfour")
block(
    "audit of open and compile",
    """
seenNN = []
def hookNN(event, args):
    if seenNN is not None and event in ("compile", "exec") and HERE in str(args): seenNN.append((event, str(getattr(args[0], "co_filename", args[-1])).replace(HERE, "")))
sys.addaudithook(hookNN); import lfour, lpack.two; doneNN, seenNN = seenNN, None; print([d for d in doneNN if d[0] == "exec"])
""",
    compiled=True,
)

block(
    "functions of os refuse",
    """
savedNN = {name: getattr(os, name) for name in ("open", "stat", "lstat", "listdir", "scandir", "getcwd", "getpid", "link", "unlink", "pread", "fsencode", "fsdecode")}
pathsNN = {name: getattr(os.path, name) for name in ("isfile", "dirname", "join")}
def refuseNN(*arguments, **named): raise PermissionError(13, "refused")
for placeNN, namesNN in ((os, savedNN), (os.path, pathsNN)):
    for nameNN in namesNN: setattr(placeNN, nameNN, refuseNN)
try: import lfour, lpack.inner.deep, wave; print("imported")
except OSError as exc: print(exc)
for placeNN, namesNN in ((os, savedNN), (os.path, pathsNN)):
    for nameNN, functionNN in namesNN.items(): setattr(placeNN, nameNN, functionNN)
""",
    alone=True,
)
block("imported by rank 1 alone", "if rank == 1: import lfour; print(lfour.value)", alone=True)

LIBRARY: dict[str, str | bytes] = {
    "lib/lone.py": "value = 1\n",
    "lib/ltwo.py": "import lone\nvalue = lone.value + 1\n",
    "lib/lthree.py": '"""Third."""\nimport string, bisect\nvalue = 3\n',
    "lib/lfour.py": "value = 4\n",
    "lib/lsource.py": "value = 'source'\n",
    "lib/lgone.py": "value = 'gone'\n",
    "lib/lsleep.py": "import time\ntime.sleep(5)\n",
    "lib/lpack/__init__.py": "",
    "lib/lpack/data.txt": "data of the package\n",
    "lib/lpack/one.py": "value = 'one'\n",
    "lib/lpack/two.py": 'from . import one\nvalue = "two"\ndef function(a=1):\n    """Return.\n\n    >>> function()\n    1\n    """\n    return a\n',
    "lib/lpack/warn.py": "import warnings\nwarnings.warn('of the package', SyntaxWarning)\n",
    "lib/lpack/broken.py": "def f(:\n",
    "lib/lpack/inner/__init__.py": "from .. import one as up\n",
    "lib/lpack/inner/deep.py": "from . import up\nfrom ..two import value\n",
    "lib/lpack_dist-2.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: lpack-dist\nVersion: 2.5\n",
    "lib/lpack_dist-2.5.dist-info/RECORD": "lpack/__init__.py,,\n",
    "lib/lpack_dist-2.5.dist-info/entry_points.txt": "[lgroup]\na = lpack.two:function\n",
    "lib/lspace/one.py": "value = 'space'\n",
    "lib/lbroken.py": "value = (\n",
    "lib/lraises.py": "def inside():\n    raise RuntimeError('while importing')\ninside()\n",
    "lib/lcircle.py": "from lcircle2 import value\n",
    "lib/lcircle2.py": "from lcircle import value\n",
    "lib/lstack.py": "import sys\nframe, seen = sys._getframe(), []\nwhile frame:\n    seen.append((frame.f_code.co_filename.rpartition('/')[2], frame.f_code.co_name))\n    frame = frame.f_back\n",
    "lib/lwarn.py": "import warnings\nwarnings.warn('on import', UserWarning)\nwarnings.warn('to the importer', DeprecationWarning, stacklevel=2)\n",
    "lib/lwork.py": "import os\ndef put(queue, rank):\n    queue.put(('child of', rank))\n",
    "lib/lmod\u00fcl.py": "value = 'umlaut'\n",
    "lib/llatin.py": "# -*- coding: latin-1 -*-\nvalue = '\u00e9'\n".encode("latin-1"),
    "lib/lbom.py": b"\xef\xbb\xbfvalue = '\xc3\xa9'\n",
    "lib/lbadcookie.py": b"# coding: no-such\nvalue = 1\n",
    "lib/lall.py": "__all__ = ['exported']\nexported, hidden = 1, 2\n",
    "lib/ldynamic.py": "def __getattr__(name):\n    if name.startswith('__'):\n        raise AttributeError(name)\n    return 'dynamic ' + name\ndef __dir__():\n    return ['a']\n",
    "lib/lswap.py": "import sys\nsys.modules[__name__] = 'a text'\n",
    "lib/clash.py": "value = 'lib'\n",
    "extra/clash.py": "value = 'extra'\n",
    "extra/einside.py": "value = 'extra'\n",
    "extra/einside2.py": "value = 'extra'\n",
    "extra/epack/__init__.py": "",
    "extra/epack/inner.py": "value = 'inner'\n",
    "sub/subinside.py": "value = 'sub'\n",
    "data.txt": "data\n",
    "noshebang": "echo from a shell\n",
    "child.py": "import os, sys, lone\nprint(sys.argv[1:], lone.value, __file__ == sys.argv[0])\n",
}
# In the script's directory.
BESIDE: dict[str, str | bytes] = {
    "params.py": "value = 1\n",
    "gone.py": "value = 'not yet gone'\n",
    "kern.py": "value = 'module'\n",
    "xxlimited.py": "value = 'python'\n",
}
