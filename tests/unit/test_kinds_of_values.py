"""Variation runs compare every kind of value that a module may keep."""

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from lab.ranks import clean_environment
from mpiimport.snapshot.audit.comparison import Differences, compare
from mpiimport.snapshot.text.program_text import ProgramText
from mpiimport.snapshot.trials import Trials

# CHOSEN is FIRST, and NUMBER is 1, but for another rank.
BEGIN = """
import os
class Named:
    def __init__(self, name): self.name = name
FIRST, SECOND = Named('first'), Named('second')
NUMBER = 1 if os.environ.get('SLURM_PROCID', '0') == '0' else 3
CHOSEN = FIRST if NUMBER == 1 else SECOND
"""
END = "\ndel NUMBER, CHOSEN"
KEPT = {
    "list": "IT = [NUMBER]",
    "set in a dictionary": "IT = {'a': {NUMBER}}",
    "default": "def it(a=NUMBER): return a",
    "closure": "def make(kept): return lambda: kept\nIT = make(NUMBER)",
    "body of a function": "exec('def it(): return 7' if CHOSEN is FIRST else 'def it(): return 8')",
    "function of another module": "from os import path\nIT = path.join if CHOSEN is FIRST else path.split",
    "attribute of a class": "class It: kept = NUMBER",
    "attribute of an object": "IT = Named(CHOSEN.name)",
    "slot": "class Mine: __slots__ = ('kept',)\nIT = Mine(); IT.kept = NUMBER",
    "decimal": "import decimal\nIT = decimal.Decimal(NUMBER) / 3",
    "attribute of a dictionary": "class Mine(dict): pass\nIT = Mine(); IT.kept = NUMBER",
    "derived from text": "class Mine(str): pass\nIT = Mine(NUMBER)",
    "object of a class in a function": "def make():\n    class It: value = NUMBER\n    return It()\nIT = make()",
    "failure of a class in a function": "def make():\n    class It(Exception): value = NUMBER\n    return It()\n"
    "IT = make()",
    "class of a class": "def make():\n    class Meta(type): value = NUMBER\n    return Meta\n"
    "class It(metaclass=make()): pass",
    "base that is named nowhere": "import collections\nNAMES = ['a', 'b'] if CHOSEN is FIRST else ['b', 'a']\n"
    "class It(collections.namedtuple('It', NAMES)): pass\ndel NAMES",
    "base of a class": "class It(list if CHOSEN is FIRST else dict): pass",
    "annotation": "def it(x: CHOSEN): pass",
    "text of a function": "def it(): pass\nit.__doc__ = CHOSEN.name",
    "name of a function": "def it(): pass\nit.__name__ = CHOSEN.name",
    "name of a class": "IT = type(CHOSEN.name, (), {})",
    "code": "IT = compile(repr(CHOSEN.name), '', 'eval')",
    "weak reference": "import weakref\nIT = weakref.ref(CHOSEN)",
    "weak set": "import weakref\nIT = weakref.WeakSet([CHOSEN])",
    "weak set of numbers": "import weakref\nFIRST.name, SECOND.name = 1, 2\nIT = weakref.WeakSet([CHOSEN])",
    "weak mapping": "import weakref\nIT = weakref.WeakValueDictionary(it=CHOSEN)",
    "slice": "import itertools\nIT = itertools.islice(range(9), NUMBER, None)",
    "factory of a field": "import dataclasses\n@dataclasses.dataclass\n"
    "class It: it: object = dataclasses.field(default_factory=list if CHOSEN is FIRST else dict)",
    "choice of a hint": "import typing\nIT = typing.Literal[CHOSEN.name]",
    "class of a hint": "IT = list[int if CHOSEN is FIRST else str]",
    "bound": "import typing\nIT = typing.TypeVar('IT', bound=int if CHOSEN is FIRST else str)",
    "base of a new type": "import typing\nIT = typing.NewType('IT', int if CHOSEN is FIRST else str)",
    "zone": "import datetime\nZONE = datetime.timezone(datetime.timedelta(hours=NUMBER))\n"
    "IT = datetime.datetime(2000, 1, 1, tzinfo=ZONE)\ndel ZONE",
    "result of a function of C": "import ctypes\nIT = ctypes.CDLL(None)\n"
    "IT.labs.restype = ctypes.c_int if CHOSEN is FIRST else ctypes.c_long",
    "number of C": "import ctypes\nIT = ctypes.c_int(NUMBER)",
    "memory of C": "import ctypes\nIT = (ctypes.c_byte * 2)(NUMBER, 4)",
    "enumeration": "IT = enumerate('ab', NUMBER)",
    "iterator": "IT = iter('abcd'); [next(IT) for _ in range(NUMBER)]",
    "view": "IT = memoryview(b'abcdef')[NUMBER:]",
    "namespace": "import types\nA, B = types.SimpleNamespace(), types.SimpleNamespace(it=1)\n"
    "IT = A if CHOSEN is FIRST else B",
    "lock": "import threading\nIT = threading.RLock()\nCHOSEN is FIRST or IT.acquire()",
    "generator": "import random\nIT = random.Random(NUMBER)",
    "stream": "import io\nIT = io.StringIO('abcd'); IT.seek(NUMBER)",
    "hash": "import hashlib\nIT = hashlib.sha256(bytes(NUMBER))",
    "context": "import contextvars\nIT = contextvars.ContextVar('it')\nIT.set(NUMBER)",
    "length": "import collections\nIT = collections.deque(maxlen=NUMBER)",
    "factory": "import collections\nIT = collections.defaultdict(list if CHOSEN is FIRST else dict)",
    "pattern": "import re\nIT = re.compile(f'{NUMBER}')",
    "virtual base": "import abc\nclass It(abc.ABC): pass\nIt.register(int if CHOSEN is FIRST else str)",
}
ALIKE = (
    "import itertools, weakref\nIT = [Named(1), weakref.ref(FIRST), iter('ab'), {1: {2}}, itertools.count(), id(FIRST)]"
)


@pytest.fixture(scope="module")
def differences(tmp_path_factory: pytest.TempPathFactory) -> Differences:
    """How variation runs of a program differ that imports a module of each kind, ``kind_NUMBER``, and ``alike``."""
    directory: Path = tmp_path_factory.mktemp("program")
    names = [f"kind_{number}" for number in range(len(KEPT))]
    for name, text in zip(["alike", *names], [ALIKE, *KEPT.values()], strict=True):
        (directory / f"{name}.py").write_text(BEGIN + text + END)
    (directory / "app.py").write_text(f"import alike, {', '.join(names)}")
    program = ProgramText.read([sys.executable], [str(directory / "app.py")], directory)
    environment = {**clean_environment(), "PYTHONHASHSEED": "0"}
    trials = Trials([sys.executable], directory, environment)
    processors = sorted(os.sched_getaffinity(0))[:1]
    return compare(partial(trials.begin, program.full().begin), processors, environment, "/")


@pytest.mark.parametrize("name", KEPT)
def test_every_kind_of_value_is_compared(differences: Differences, name: str) -> None:
    assert not differences.failure
    module = f"kind_{[*KEPT].index(name)}"
    assert [path for path in differences.own if path.startswith(f"{module}:")]


def test_what_is_the_same_does_not_differ(differences: Differences) -> None:
    assert not [path for path in differences.own if path.startswith("alike:")]
