"""What programs do at module level before a snapshot may end, and what they see of it behind that.

As in ``blocks``, but in two parts. ``begin`` stands in front of PREAMBLE, by which a program asks for its rank: all of
it may be in a snapshot. ``text`` stands among the blocks. ``edits`` are written between preparing and starting.
Paths of both ``files`` and ``edits`` are relative to the script's directory.
"""

from dataclasses import dataclass, field

from tests.random_programs.blocks import Block


@dataclass(frozen=True)
class Begin(Block):
    begin: str = ""
    edits: dict[str, str] = field(default_factory=dict)


BEGINS: list[Begin] = []


def begin(
    name: str,
    before: str,
    text: str,
    files: dict[str, str | bytes] | None = None,
    edits: dict[str, str] | None = None,
    mpi: bool = False,
) -> None:
    before, text = (f"{each.strip()}\n" for each in (before, text))
    BEGINS.append(Begin(f"begin: {name}", text, files or {}, mpi=mpi, begin=before, edits=edits or {}))


# Names and what they refer to.

begin(
    "global that functions change",
    "countNN, listNN = 0, []\ndef addNN(n=1):\n    global countNN\n    countNN += n; listNN.append(countNN)\naddNN(); addNN(2)",
    "addNN(3); print(countNN, listNN, addNN.__globals__ is globals())",
)
begin(
    "names made and deleted",
    "a = bNN = 1; del a\nglobals()['cNN'] = 2; exec('dNN = bNN + cNN'); eNN = eval('dNN * 2'); vars()['fNN'] = 3",
    "print(bNN, cNN, dNN, eNN, fNN, 'a' in globals(), list(globals()).index('bNN') < list(globals()).index('rank'))",
)
begin(
    "function of a later name",
    "def laterNN(): return rank >= 0, LIB is not None\nlambdaNN = [lambda: nNN for nNN in range(3)]; defaultNN = lambda n=len(lambdaNN): n",
    "print(laterNN(), [f() for f in lambdaNN], defaultNN())",
)
begin(
    "annotations and names of the module",
    "xNN: int = 3\nyNN: 'str'\nseenNN = (__name__, __doc__, __package__, __spec__, type(__loader__).__name__, os.path.basename(__file__))",
    "print(seenNN, __annotations__, type(__builtins__).__name__, seenNN[0] == __name__)",
)
begin(
    "if main", "if __name__ == '__main__':\n    mainNN = 'main'\nelse:\n    mainNN = 'other'", "print(mainNN, __name__)"
)
begin(
    "line numbers",
    "def raiseNN():\n    raise ValueError('of the begin')\nlineNN = sys._getframe().f_lineno\ncodeNN = raiseNN.__code__.co_firstlineno",
    "import traceback\ntry: raiseNN()\nexcept ValueError as exc: print([(f.lineno, f.name, f.line) for f in traceback.extract_tb(exc.__traceback__)], lineNN, codeNN)",
)
begin(
    "sources",
    "def beforeNN(a, *, b=2):\n    '''Before.'''\n    return a  # a comment\nclass ClassNN:\n    def method(self): return 1",
    "import inspect\ndef afterNN(): return 3\nprint([inspect.getsource(f) for f in (beforeNN, ClassNN, ClassNN.method, afterNN)], inspect.signature(beforeNN), inspect.getsourcelines(ClassNN)[1])",
)
begin(
    "statements of blocks",
    "try:\n    1 / 0\nexcept ZeroDivisionError as errorNN:\n    keptNN = errorNN\nfinally:\n    lastNN = 'last'\nfor iNN in range(4):\n    if (halfNN := iNN // 2): break\nelse:\n    halfNN = None\nwhile iNN < 9: iNN += 3",
    "print(repr(keptNN), keptNN.__traceback__.tb_lineno, lastNN, iNN, halfNN, 'errorNN' in globals())",
)

# Objects that have a state.

begin(
    "generator half consumed",
    "def yieldsNN():\n    x = 0\n    try:\n        while True: x += (yield x) or 1\n    finally: print('closed NN')\ngeneratorNN = yieldsNN(); next(generatorNN); generatorNN.send(4)",
    "print(next(generatorNN), generatorNN.gi_frame.f_locals); <<generatorNN.close()|pass>>",
)
begin(
    "iterators half consumed",
    "import itertools\niteratorsNN = [iter([1, 2, 3]), enumerate('abc'), zip('ab', 'cd'), itertools.count(5), itertools.cycle('xy'), map(abs, [-1, -2]), reversed([1, 2, 3]), iter({'a': 1, 'b': 2}.items())]\nfirstNN = [next(i) for i in iteratorsNN]",
    "print(firstNN, [next(i) for i in iteratorsNN])",
)
begin(
    "registry of decorators",
    "import functools\nregistryNN = {}\ndef registerNN(name, **options):\n    def add(f):\n        @functools.wraps(f)\n        def wrapper(*a): return name, f(*a)\n        registryNN[name] = wrapper, options; return wrapper\n    return add\n@registerNN('first', order=1)\ndef firstNN(x): return x + 1",
    "@registerNN('second')\ndef secondNN(x): return x * 2\nprint([f(3) for f, _ in registryNN.values()], firstNN.__wrapped__.__name__)",
)
begin(
    "registry of classes",
    "import abc, enum, dataclasses\nclass BaseNN:\n    known = []\n    def __init_subclass__(cls, **named): BaseNN.known.append(cls.__name__)\nclass OneNN(BaseNN): pass\nclass AbcNN(abc.ABC): pass\nAbcNN.register(dict)\nclass EnumNN(enum.Enum): A = 1\n@dataclasses.dataclass(frozen=True)\nclass DataNN:\n    a: int = 1\ninstanceNN = DataNN(2)",
    "import pickle\nclass TwoNN(BaseNN): pass\nprint(BaseNN.known, isinstance({}, AbcNN), EnumNN(1), pickle.loads(pickle.dumps((instanceNN, EnumNN.A, OneNN))))",
)
begin(
    "caches and dispatch",
    "import functools\n@functools.lru_cache(None)\ndef cachedNN(n): return n if n < 2 else cachedNN(n - 1) + cachedNN(n - 2)\ncachedNN(9)\n@functools.singledispatch\ndef kindNN(x): return 'any'\n@kindNN.register\ndef _(x: int): return 'int'",
    "print(cachedNN.cache_info(), kindNN(1), kindNN('a'), functools.partial(cachedNN, 12)())",
)
begin(
    "locks and weak references",
    "import threading, weakref\nlockNN, eventNN, localNN = threading.RLock(), threading.Event(), threading.local(); lockNN.acquire(); eventNN.set(); localNN.x = 1\nclass HeldNN: pass\nheldNN = HeldNN(); weakNN = weakref.WeakValueDictionary(a=heldNN); endNN = weakref.finalize(heldNN, print, 'finalized NN')",
    "lockNN.release(); tNN = threading.Thread(target=lambda: print(lockNN.acquire(timeout=5), eventNN.wait(5), hasattr(localNN, 'x'))); tNN.start(); tNN.join()\nprint(localNN.x, dict(weakNN).keys(), endNN.alive); <<del heldNN|pass>>",
)
begin(
    "contexts",
    "import contextvars, decimal\nvariableNN = contextvars.ContextVar('NN', default=0); tokenNN = variableNN.set(7); copyNN = contextvars.copy_context(); decimal.getcontext().prec = 5",
    "variableNN.set(8); print(copyNN[variableNN], variableNN.get(), decimal.Decimal(1) / 3); variableNN.reset(tokenNN); print(variableNN.get())",
)

# The interpreter's and the process's.

begin(
    "functions replaced",
    "import json, textwrap, builtins\nsavedNN = textwrap.dedent, json.dumps\ntextwrap.dedent = lambda text: 'patched'; json.JSONEncoder.item_separator = ';'; builtins.shoutNN = str.upper",
    "print(textwrap.dedent(' a'), json.dumps([1, 2]), shoutNN('a')); textwrap.dedent, json.dumps = savedNN; json.JSONEncoder.item_separator = ', '",
)
begin(
    "variables",
    "os.environ['SET_NN'] = '<<1|a b>>'; os.environ.setdefault('HOME_NN', 'default'); oldNN = os.environ.pop('LANG', None); envNN = dict(A=os.environ.get('NO_SUCH'), B=os.environ['SET_NN'])",
    "import subprocess; print(envNN, subprocess.run(['sh', '-c', 'echo $SET_NN $HOME_NN ${LANG-unset}'], capture_output=True, text=True).stdout, os.getenv('HOME_NN'))",
)
begin(
    "search path",
    "sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'more')); sys.path.append('nowhere')\nimport insideNN",
    "print(insideNN.value, insideNN.__file__.replace(HERE, ''), sys.path[0].replace(HERE, ''), sys.path[-1]); sys.path.remove('nowhere')",
    {"more/insideNN.py": "value = 'inside'\n"},
)
begin(
    "filters of warnings",
    "import warnings\nwarnings.<<filterwarnings('ignore', message='quiet')|simplefilter('always')|filterwarnings('error', category=FutureWarning)>>\ndef warnNN(text, kind=UserWarning): warnings.warn(text, kind, stacklevel=2)\nwarnNN('<<quiet|quiet and more>>')",
    "warnNN('quiet')\ntry: warnNN('future', FutureWarning)\nexcept FutureWarning as exc: print('raised', exc)\nprint(len(warnings.filters) > 3, globals().get('__warningregistry__', {}).keys())",
)
begin(
    "locale",
    "import locale\nlocale.setlocale(locale.<<LC_ALL|LC_NUMERIC>>, '<<C|C.UTF-8>>')",
    "print(locale.getlocale(locale.LC_NUMERIC), locale.format_string('%.2f', 1234.5, grouping=True), f'{12345:n}')",
)
begin(
    "handlers of signals",
    "import signal\ndef handlerNN(n, f): print('signal', n, f.f_code.co_name)\npreviousNN = signal.signal(signal.SIGUSR2, handlerNN)",
    "print(previousNN, signal.getsignal(signal.SIGUSR2) is handlerNN); os.kill(os.getpid(), signal.SIGUSR2)",
)
begin(
    "handlers at exit",
    "import atexit\natexit.register(print, 'begin NN')\n@atexit.register\ndef lastNN(): print('rank at exit', rank >= 0)",
    "atexit.register(print, 'behind NN'); <<atexit.unregister(lastNN)|pass>>",
)
begin(
    "settings of the interpreter",
    "import gc\nsys.setrecursionlimit(3000); sys.setswitchinterval(0.01); gc.<<disable()|set_threshold(500, 5, 5)>>; sys.displayhook = lambda x: None; sys.ps1 = 'NN'",
    "print(sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold(), sys.displayhook.__name__, sys.ps1); gc.enable()",
)
begin(
    "log",
    "import logging\nlogging.basicConfig(level=<<'INFO'|'WARNING'>>, format='%(levelname)s %(name)s %(lineno)d %(message)s', force=True)\nlogNN = logging.getLogger('begin.NN'); logNN.addHandler(logging.NullHandler()); logNN.<<info|warning>>('in the begin')",
    "logNN.warning('behind'); print(logging.getLogger().handlers, logNN.getEffectiveLevel())",
)
begin(
    "seeded numbers",
    "import random\nrandom.seed(NN + 1); drawnNN = random.random(); ownNN = random.Random(4); ownNN.random()",
    "print(drawnNN, random.random(), ownNN.random())",
)

# What belongs to this process.

begin("process", "pidNN, parentNN = os.getpid(), os.getppid()", "print(pidNN == os.getpid(), parentNN == os.getppid())")
begin(
    "arguments", "argvNN = sys.argv[1:]; firstNN = sys.argv[1] if len(sys.argv) > 1 else None", "print(argvNN, firstNN)"
)
begin("directory", "cwdNN = os.getcwd(); hereNN = os.path.isdir('lib')", "print(cwdNN == os.getcwd(), hereNN)")
begin(
    "clock",
    "import time\nstartNN, ticksNN = time.time(), time.clock_gettime(time.CLOCK_BOOTTIME)",
    "bornNN = int(open('/proc/self/stat').read().rpartition(')')[2].split()[19]) / os.sysconf('SC_CLK_TCK')\nprint(ticksNN > bornNN - 0.1, startNN <= time.time())",
)
begin("output", "print('of the begin', <<end=' '|flush=True|file=sys.stderr>>)", "print('behind it')")
begin("streams", "ttyNN = sys.stdout.isatty() if sys.stdout else None; outNN = sys.stdout", "print(ttyNN, outNN is sys.stdout)")  # fmt: skip
begin(
    "file left open",
    "openNN = open(__file__); lineNN = openNN.readline()",
    "print(lineNN, len(openNN.readlines()) > 5)",
)
begin(
    "unique names",
    "import uuid, secrets, tempfile\nuniqueNN = [str(uuid.uuid4()), secrets.token_hex(), os.urandom(4).hex()]",
    "from mpi4py import MPI\nprint([len({*each}) for each in zip(*MPI.COMM_WORLD.allgather(uniqueNN))])",
    mpi=True,
)

# Imports.

begin(
    "chain of imports",
    "try: import no_such_NN as packNN\nexcept ImportError:\n    try: from tomllib import loads as packNN\n    except ImportError: packNN = None\nHAS_NN = packNN is not None\nif sys.version_info >= (3, 9): import zoneinfo as zoneNN\nelse: zoneNN = None\nif sys.platform == 'win32': import winreg",
    "print(HAS_NN, getattr(packNN, '__module__', None), zoneNN.__name__, 'winreg' in sys.modules)",
)
begin("import of all names", "from lall import *\nfrom math import *\nfrom lpack.two import function as fNN", "print(exported, 'hidden' in globals(), floor(2.5), fNN(2))")  # fmt: skip
OWN = "'''Own.'''\nimport decimal\nfrom lone import value as other\nSIZE = 3\nCALLS = []\ndef call(n):\n    CALLS.append(n); return n + other\ncall(1)\n"
SEES = "print(ownNN.__doc__, ownNN.SIZE, ownNN.call(2), ownNN.CALLS, ownNN.call.__code__.co_firstlineno, ownNN.__file__.replace(HERE, ''))"
begin(
    "own module",
    "import ownNN\nownNN.CALLS.append('begin'); ownNN.extra = 1",
    f"{SEES}; print(ownNN.extra)",
    {"ownNN.py": OWN},
)
for _what, _edits in {
    "its body": {"ownNN.py": OWN.replace("n + other", "n - other")},
    "its constant": {"ownNN.py": OWN.replace("SIZE = 3", "SIZE = 4")},
    "its imports": {"ownNN.py": OWN.replace("import decimal", "import fractions as decimal")},
    "a line in front": {"ownNN.py": "\n" + OWN},
    "a package in its place": {"ownNN/__init__.py": OWN.replace("SIZE = 3", "SIZE = 5")},
}.items():
    begin(
        f"own module, {_what} edited",
        "import ownNN\nfromNN = ownNN.SIZE",
        f"print(fromNN); {SEES}",
        {"ownNN.py": OWN},
        _edits,
    )
begin(
    "own package that is edited",
    "import packNN.one\nfrom packNN.two import value as valueNN",
    "print(packNN.VERSION, packNN.one.value, valueNN, sorted(n for n in sys.modules if n.startswith('packNN')))",
    {"packNN/__init__.py": "VERSION = 1\n", "packNN/one.py": "import csv\nvalue = 1\n", "packNN/two.py": "from .one import value\nimport colorsys\nvalue += 1\n"},
    {"packNN/one.py": "import csv\nfrom . import three\nvalue = three.value\n", "packNN/three.py": "value = 30\n"},
)  # fmt: skip

# MPI, which each process starts itself.

for _import, _size in {
    "from mpi4py import MPI": "MPI.COMM_WORLD.size",
    "import mpi4py.MPI as mpiNN": "mpiNN.COMM_WORLD.size",
    "import mpi4py\nmpi4py.rc.threads = False\nfrom mpi4py import MPI as mpiNN": "mpiNN.Query_thread()",
    "try: from mpi4py import MPI as mpiNN\nexcept ImportError: mpiNN = None": "mpiNN.COMM_WORLD.allreduce(1)",
    "import ownmpiNN as mpiNN": "mpiNN.SIZE",
    "from mpi4py import MPI\nsizeNN = MPI.COMM_WORLD.size": "sizeNN",
    "from mpi4py import MPI\nsizeNN = 'mpi4py.MPI' in sys.modules": "sizeNN",
}.items():
    begin(
        f"MPI: {_import.splitlines()[-1]}",
        _import,
        f"print({_size}, 'mpi4py.MPI' in sys.modules)",
        {"ownmpiNN.py": "import decimal\nfrom mpi4py import MPI\nSIZE = MPI.COMM_WORLD.size\n"},
        mpi=True,
    )
