"""What a program has at its cut it has behind it: objects half used, settings, hooks and seeds."""

from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import but_everyday

from .conftest import Baked

# Text of a script up to its main part, and its main part.
SCRIPTS = {
    "objects": (
        "from __future__ import annotations\n"
        "import collections, contextvars, dataclasses, enum, functools, itertools, threading, typing, weakref\n"
        "def numbers():\n    for each in range(5):\n        yield each\n"
        "half, count, texts = numbers(), itertools.count(3), map(str, [1, 2, 3])\n"
        "first = next(half), next(count), next(texts)\n"
        "@dataclasses.dataclass\nclass Point:\n    x: int = 3\n    y: list = dataclasses.field(default_factory=list)\n"
        "class Kind(enum.Enum):\n    A = 1\n"
        "registry = {}\n"
        "class Meta(type):\n    def __init__(cls, name, bases, names, **given):\n        registry[name] = cls\n"
        "class Base(metaclass=Meta):\n"
        "    def __init_subclass__(cls, **given): registry['sub ' + cls.__name__] = given\n"
        "class Derived(Base, flag=1): pass\n"
        "@functools.lru_cache\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "value: int = fib(20)\n"
        "variable = contextvars.ContextVar('variable', default=1)\ntoken = variable.set(7)\n"
        "local, lock = threading.local(), threading.Lock()\nlocal.x = 5\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError as exc:\n    kept = exc\n",
        "    import pickle, traceback\n"
        "    print(first, [*half], next(count), [*texts], fib.cache_info(), variable.get(), __annotations__)\n"
        "    print(pickle.loads(pickle.dumps([Point(4), Kind.A])), sorted(registry), local.x, lock.locked(), kept)\n"
        "    traceback.print_exception(kept)\n    weakref.finalize(Derived, print, 'ended')\n",
    ),
    "settings": (
        "import decimal, gc, json, locale, logging, os, random, signal, sys, warnings\n"
        "os.environ['SET'] = '1'\nos.environ.pop('ZZZ', None)\n"
        "sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))\n"
        "sys.setrecursionlimit(5000)\ndecimal.getcontext().prec = 50\ngc.set_threshold(100, 5, 5)\n"
        "locale.setlocale(locale.LC_ALL, 'C')\nrandom.seed(42)\ndrawn = random.random()\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(levelname)s %(module)s %(lineno)d')\n"
        "warnings.simplefilter('always')\njson.dumps_before = json.dumps\njson.dumps = lambda each: 'patched'\n"
        "sys.excepthook = lambda kind, value, traceback: print('hook', kind.__name__, value)\n"
        "def handle(number, frame): print('signal', number, flush=True)\n"
        "signal.signal(signal.SIGUSR1, handle)\n"
        "def warn():\n    warnings.warn('hi', DeprecationWarning, stacklevel=2)\n",
        "    print(os.environ['SET'], sys.path[0], sys.getrecursionlimit(), decimal.Decimal(1) / 3)\n"
        "    print(gc.get_threshold())\n"
        "    print(drawn, random.random(), json.dumps(1), locale.setlocale(locale.LC_ALL))\n"
        "    logging.info('')\n    warn()\n    os.kill(os.getpid(), signal.SIGUSR1)\n    os.system('echo $SET')\n"
        "    text = '\\d'\n    raise ValueError('x')\n",
    ),
    "ends": (
        "import atexit\nclass Counted:\n    def __del__(self): print('del', self.number)\n"
        "one, other = Counted(), Counted()\none.number, other.number = 1, 2\nother.itself = other\n"
        "atexit.register(print, 'bye')\n",
        "    one.file = open('/dev/null')\n    print('end')\n",
    ),
    "threads": (
        "import threading, time\nthread = threading.Thread(target=time.sleep, args=(0.2,))\n"
        "timer = threading.Timer(0.1, print, ('timer',))\n",
        "    thread.start()\n    timer.start()\n"
        "    print(thread.is_alive(), timer.is_alive(), threading.active_count())\n"
        "    thread.join()\n    timer.join()\n    print(thread.is_alive(), thread.name)\n",
    ),
    "finders": (
        "import builtins, sys\nseen, importing = [], builtins.__import__\n"
        "class Finder:\n    def find_spec(self, name, path, target=None): seen.append(name)\n"
        "def noted(name, *given, **named):\n    seen.append(name)\n    return importing(name, *given, **named)\n"
        "sys.meta_path.insert(0, Finder())\nbuiltins.__import__ = noted\n",
        "    print(seen)\n    import colorsys\n    print(seen)\n",
    ),
    "numpy": (
        "import numpy\nnumpy.random.seed(7)\ndrawn = numpy.random.rand(2)\nmine = numpy.random.default_rng(5)\n"
        "first = mine.random(2)\nnumpy.set_printoptions(precision=3)\nnumpy.seterr(all='ignore')\n",
        "    print(drawn, numpy.random.rand(), first, mine.random(), numpy.array([1 / 3]), numpy.array([1.0]) / 0)\n",
    ),
}


@pytest.mark.parametrize("name", but_everyday(SCRIPTS, {"objects", "settings", "threads"}))
def test_a_program_goes_on_with_what_it_had(baked: Baked, name: str) -> None:
    begin, main = SCRIPTS[name]
    script = baked.script(f'{begin}if __name__ == "__main__":\n{main}')
    said = baked.bake(script)
    # What is to be done at the end is not done when the snapshot is made.
    assert 'if __name__ == "__main__":' in said and "bye" not in said
    plain, started = baked.plain(script), baked.start_restored(script)
    assert (started.stdout, started.stderr, started.status) == (plain.stdout, plain.stderr, plain.status)


SEEKS = """
import sys
if __name__ == "__main__":
    print([stream.seekable() for stream in (sys.stdin, sys.stdout, sys.stdout.buffer)], file=sys.stderr)
    print(sys.stdin.read(2), sys.stdout.seekable() and sys.stdout.tell())
"""


@pytest.mark.parametrize("redirection", ["</etc/passwd >out", "</etc/passwd | cat", ">out", "| cat"])
def test_streams_can_seek_where_plainly_they_can(baked: Baked, tmp_path: Path, redirection: str) -> None:
    script = baked.script(SEEKS)
    baked.bake(script)
    line = f'printf text | (exec "$@" {redirection}); cat out 2>/dev/null'
    command = ["sh", "-c", line, "sh"]
    plain = run([*command, baked.python, script], baked.environment(), 60, tmp_path)
    assert baked.start(script, before=tuple(command)) == plain


def test_a_link_that_leads_nowhere_is_there(baked: Baked, tmp_path: Path) -> None:
    name = tmp_path / "name"
    script = baked.script(
        f"import os\nfound = os.path.lexists({str(name)!r})\nif __name__ == '__main__': print(found)\n"
    )
    baked.bake(script)
    assert baked.start_restored(script).stdout == "False\n"
    name.symlink_to("nowhere")
    assert baked.start(script).stdout == "True\n"


def test_a_begin_that_reads_the_program_is_of_this_program_alone(baked: Baked) -> None:
    text = (
        "import os\nplace = os.path.realpath(__file__)\nsize = len(open(__file__).read())\nif __name__ == '__main__':\n"
    )
    script = baked.script(f"{text}    print(size, place)\n")
    baked.bake(script)
    assert baked.start_restored(script) == baked.plain(script)
    baked.script(f"{text}    print(size, place, 'edited')\n")
    assert baked.start_fresh("changed", script).stdout == baked.plain(script).stdout


SPAWNS = """
import numpy
rng, old, own = numpy.random.default_rng(), numpy.random.RandomState(), numpy.random.default_rng(5)
if __name__ == "__main__":
    sequence = rng.bit_generator.seed_seq
    again = numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(sequence.entropy)))
    print(again.random() == rng.random(), own.random(), [each.n_children_spawned for each in sequence.spawn(2)])
    print([rng.spawn(1)[0].random(), old.rand(), numpy.random.rand()])
    print([kind._bit_generator.seed_seq is None for kind in (old, numpy.random.mtrand._rand)])
"""


def test_what_a_generator_spawns_is_of_each_process(baked: Baked) -> None:
    script = baked.script(SPAWNS)
    baked.bake(script)
    (first, drawn, last), *others = (baked.start_restored(script).stdout.splitlines() for _ in range(3))
    assert [first, last] == [baked.plain(script).stdout.splitlines()[number] for number in (0, 2)]
    numbers = [*drawn[1:-1].split(", "), *(each for _, one, _ in others for each in one[1:-1].split(", "))]
    assert len({*numbers}) == 9


def test_a_newline_that_a_begin_has_set_is_that_of_each_process(baked: Baked) -> None:
    script = baked.script("import sys, json\nx = 1\nsys.stdout.reconfigure(newline='\\r')\nprint('text')\n")
    assert "the newline of a stream, which it changes" in baked.bake(script)
    assert "t  \\r" in baked.start(script, before=("sh", "-c", '"$@" | od -c', "sh")).stdout


def test_mpi4py_that_waits_is_where_it_was(baked: Baked, tmp_path: Path) -> None:
    (tmp_path / "other" / "mpi4py").mkdir(parents=True)
    (tmp_path / "other" / "mpi4py" / "__init__.py").touch()
    text = f"from mpi4py import MPI\nimport sys\nsys.path.insert(0, {str(tmp_path / 'other')!r})\nx = 1\n"
    outcome = baked.try_to_bake(baked.script(text))
    assert outcome.status == 1 and "changes how mpi4py is imported, which waits" in outcome.stderr, outcome
