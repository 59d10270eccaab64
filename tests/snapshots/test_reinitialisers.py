"""Each reinitialiser makes a difference: what it makes new is new with it, and old without it."""

import os
import time
from collections.abc import Callable

import pytest

from lab.ranks import Outcome, run
from mpiimport.snapshot.restore.reinitialisers import REINITIALISERS
from tests.conftest import but_everyday

from .baked import Baked, reach, shared_library

pytestmark = pytest.mark.usefixtures("installed")

Bake = Callable[..., str]
Observe = Callable[[Baked, Bake], bool]


def differs_between_starts(text: str) -> Observe:
    def observe(baked: Baked, bake: Bake) -> bool:
        script = bake(text)
        return baked.start_restored(script).stdout != baked.start_restored(script).stdout

    return observe


def says_true(
    text: str, *words: str, before: str = "", later: bool = False, apart: str = "-u", **environment: str
) -> Observe:
    """``before``: what a shell does before it becomes the starter, in namespaces of its own (``apart``, of unshare(1));
    ``later``: seconds after the image was made.
    """

    def observe(baked: Baked, bake: Bake) -> bool:
        script = bake(text)
        if later:
            time.sleep(3)
        shell = ("unshare", apart, "sh", "-c", f'{before}; exec "$@"', "sh") if before else ()
        outcome = baked.start(script, *words, before=shell, **environment)
        assert outcome.status == 0
        assert "the snapshot is not used" not in outcome.stderr or REMEDY_REFUSES in outcome.stderr, outcome
        return outcome.stdout == "True\n"

    return observe


def start_in_another_year(baked: Baked, bake: Bake, text: str) -> Outcome:
    """The image is made in 2012, by the clock of clock.c, and started now."""
    library = shared_library("clock.c", baked.modules.parent)
    variables = {"LD_PRELOAD": str(library), "TZ": "Europe/Moscow", "MPIIMPORT_VERBOSE": "1"}
    outcome = baked.start(bake(text, **variables), before=("nice", "-n", "5"), **variables)
    assert outcome.status == 0, outcome
    return outcome


def says_true_in_another_year(text: str) -> Observe:
    def observe(baked: Baked, bake: Bake) -> bool:
        outcome = start_in_another_year(baked, bake, text)
        assert "the snapshot is not used" not in outcome.stderr, outcome
        return outcome.stdout == "True\n"

    return observe


def refuses_in_another_year(text: str, reason: str) -> Observe:
    return lambda baked, bake: reason in start_in_another_year(baked, bake, text).stderr


# What dask has derived from it stays, so the program starts plainly.
def with_module(module: str, text: str, observe: Observe) -> Observe:
    """A module is written that is in the place of a package's own."""

    def observe_with(baked: Baked, bake: Bake) -> bool:
        *packages, name = module.split(".")
        directory = baked.modules
        for package in packages:
            directory /= package
            directory.mkdir(exist_ok=True)
            (directory / "__init__.py").touch()
        (directory / f"{name}.py").write_text(text)
        return observe(baked, bake)

    return observe_with


def refuses(text: str, reason: str, before: str, apart: tuple[str, ...] = ()) -> Observe:
    """``before``: what a shell does before it becomes the starter, in namespaces of its own if ``apart`` says so."""

    def observe(baked: Baked, bake: Bake) -> bool:
        script = bake(text)
        shell = (*apart, "sh", "-c", f'{before}; exec "$@"', "sh")
        return reason in baked.start(script, before=shell, MPIIMPORT_VERBOSE="1").stderr

    return observe


NUMBERS = """
import numexpr, sys
frame = sys._getframe()
while "start" not in frame.f_locals:
    frame = frame.f_back
print(*frame.f_locals["start"].numbers)
"""


def refuses_the_numbers_of_the_maker(baked: Baked, bake: Bake) -> bool:
    """In a namespace of process numbers, where any number is free."""
    script = bake(NUMBERS)
    refused = []
    for number in map(int, baked.start_restored(script).stdout.split()):
        shell = f'echo {number - 1} >/proc/sys/kernel/ns_last_pid; "$@"; :'
        apart = ("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", shell, "sh")
        start = baked.start(script, before=apart, MPIIMPORT_VERBOSE="1")
        refused.append(f"has the number {number}" in start.stderr)
    return all(refused)


LOCK = """
import threading, uuid, weakref
class SerializableLock:
    _locks = weakref.WeakValueDictionary()
    def __init__(self, token=None):
        self.token = token or str(uuid.uuid4())
        self.lock = self._locks.setdefault(self.token, threading.Lock())
ONE, NAMED = SerializableLock(), SerializableLock("named")
ALIKE = SerializableLock(ONE.token)
"""
REMEDY_REFUSES = "dask has counted"
QUOTA = """mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir cpu,cpuacct
for file in quota period; do echo 100000 >cpu,cpuacct/cpu.cfs_${file}_us; done; cd /"""
RECENT = "import time, {0}; print(abs({1} - time.time()) < 2)"
OBSERVED = {
    "environment": says_true("import os; print(os.environ.get('NEW') == '1')", NEW="1"),
    "after_fork": says_true("import forking; print(forking.calls_in_child() == 1)"),
    "native_id": says_true("import os, threading; print(threading.main_thread().native_id == os.getpid())"),
    "command_line": says_true("import sys; print(sys.argv[1:] == ['x'] and sys.orig_argv[-1] == 'x')", "x"),
    "streams": says_true("import sys; print(sys.stdin is None)", before="exec <&-"),
    "signals": says_true("import signal; print(signal.getsignal(10) == signal.SIG_IGN)", before="trap '' USR1"),
    "numpy": differs_between_starts("import numpy.random; print(numpy.random.rand())"),
    "numpy_testing": with_module(
        "numpy.testing._private.utils",
        "import os\ndef memusage(file=f'/proc/{os.getpid()}/stat'): return file\ndef jiffies(file=f'/proc/{os.getpid()}"
        "/stat', times=[]): return file",
        says_true(
            "import os, numpy.testing._private.utils as u\n"
            "print(u.memusage() == u.jiffies() == f'/proc/{os.getpid()}/stat')"
        ),
    ),
    "f2py": says_true(RECENT.format("numpy.f2py.rules", "numpy.f2py.rules.generationtime"), later=True),
    "generators": differs_between_starts("import plant; print(plant.GENERATOR.random(), plant.ARRAYS.random())"),
    "logging": says_true(RECENT.format("logging", "logging._startTime"), later=True),
    "platform": says_true("import uuid, platform; print(platform.node() == 'other')", before="hostname other"),
    "inspect": says_true("import asker, inspect; print(not inspect.modulesbyfile and not inspect._filesbymodname)"),
    "time_zone": says_true_in_another_year("import time, _strptime; print(time.timezone == -3 * 3600)"),
    "temporary_names": says_true(
        "import joblib; print(joblib._multiprocessing_helpers._rand._rng_pid is None)",
    ),
    "sympy": differs_between_starts("import sympy; print(sympy.Dummy('x').dummy_index)"),
    "dateutil": says_true_in_another_year(
        "import dateutil.parser; print(dateutil.parser.parse('1/1/71').year == 2071)",
    ),
    "psutil": says_true(
        "import psutil; then, = psutil._last_cpu_times.values(); print(sum(psutil.cpu_times()) - sum(then) < 2)",
        later=True,
    ),
    "urllib3": says_true(
        "import urllib3.util.connection as c; print(c.HAS_IPV6 == c._has_ipv6('::1'))", before="true", apart="-n"
    ),
    "dask": says_true(
        "import dask.system; print(dask.system.CPU_COUNT == dask.system.cpu_count())", before=QUOTA, apart="-m"
    ),
    "numba": says_true(
        "import numba.core.types.functions as f; print(f._termwidth == 50)",
        before='set -- script -qec "stty cols 50 -onlcr; $*" /dev/null',
    ),
    "another_number": with_module("numexpr", "", refuses_the_numbers_of_the_maker),
    "tokens": with_module(
        "xarray.backends.locks",
        LOCK,
        differs_between_starts(
            "import xarray.backends.locks as l\n"
            "assert l.ONE.token == l.ALIKE.token and l.NAMED.token == 'named' and len(l.ONE._locks) == 2\n"
            "assert l.SerializableLock(l.ONE.token).lock is l.ONE.lock; print(l.ONE.token)"
        ),
    ),
    "netcdf": with_module(
        "netCDF4._netCDF4",
        "import os\nos.getcwd()",
        refuses("import netCDF4._netCDF4", "this is another directory", "cd /"),
    ),
    "rich": with_module(
        "rich",
        "import os\n_IMPORT_CWD = os.path.abspath(os.getcwd())",
        says_true("import rich; print(rich._IMPORT_CWD == '/')", before="cd /"),
    ),
    "dask_csv": with_module(
        "dask.dataframe.io.csv",
        "AUTO_BLOCKSIZE = 1\ndef _infer_block_size(): return 2",
        says_true("import dask.dataframe.io.csv as c; print(c.AUTO_BLOCKSIZE == 2)"),
    ),
    "numcodecs": with_module(
        "numcodecs.blosc",
        "import os\n_importer_pid = os.getpid()",
        says_true("import numcodecs.blosc, os; print(numcodecs.blosc._importer_pid == os.getpid())"),
    ),
    "filelock": with_module(
        "filelock._api",
        "import os, types\n_FORK_STATE = types.SimpleNamespace(pid=os.getpid())",
        says_true("import filelock._api, os; print(filelock._api._FORK_STATE.pid == os.getpid())"),
    ),
    "jax": with_module(
        "jax._src.pretty_printer",
        "import sys\ndef _can_use_color(): return sys.stdout.isatty()\nCAN_USE_COLOR = _can_use_color()",
        says_true(
            "import jax._src.pretty_printer as p; print(p.CAN_USE_COLOR)",
            before='set -- script -qec "stty -onlcr; $*" /dev/null',
        ),
    ),
    "dill": with_module(
        "dill.session",
        "import pathlib, tempfile\nTEMPDIR = pathlib.PurePath(tempfile.gettempdir())",
        refuses(
            "import dill.session",
            "dill has /tmp for temporary files, and this process /var/tmp",
            "mount --bind /tmp /tmp; mount -o remount,bind,ro /tmp",
            ("unshare", "-m"),
        ),
    ),
    "hypothesis": with_module(
        "hypothesis.configuration",
        "from pathlib import Path\n__hypothesis_home_directory_default = Path.cwd() / '.hypothesis'",
        says_true(
            "import hypothesis.configuration as c\nprint(str(c.__hypothesis_home_directory_default) == '/.hypothesis')",
            before="cd /",
        ),
    ),
    "ipython": with_module(
        "IPython.core.tips",
        "from datetime import datetime\n"
        "_tips = {'every_year': {1: f'It began {datetime.now().year - 2001} years ago'}}",
        refuses_in_another_year("import IPython.core.tips", "IPython's tips are those of another year"),
    ),
    "distributed": with_module(
        "distributed.client",
        "import uuid\nclass Future: _uid = uuid.uuid4().hex",
        differs_between_starts("import distributed.client as c; print(c.Future._uid)"),
    ),
    "tables": with_module(
        "tables.tests.common",
        "from time import perf_counter as clock\nclass ShowMemTime: tref = clock()",
        says_true(
            "import tables.tests.common as c; print(c.clock() - c.ShowMemTime.tref < 2)",
            later=True,
        ),
    ),
    "multiprocessing": differs_between_starts(
        "import multiprocessing.process as p; print(bytes(p.current_process().authkey))"
    ),
}
FORKING = """
import os
CALLS = []
os.register_at_fork(after_in_child=lambda: CALLS.append(1))
def calls_in_child():
    pid = os.fork()
    if not pid:
        os._exit(len(CALLS))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""
# Those with `before`, which is done in a namespace of host names of its own.
NEEDS_ROOT = {
    *("platform", "signals", "streams", "urllib3", "dask", "numba", "another_number"),
    *("rich", "jax", "dill", "hypothesis"),
}
PACKAGES = {
    **dict.fromkeys(("temporary_names", "sympy", "dateutil", "psutil"), "baked_with_packages"),
    **dict.fromkeys(("urllib3", "dask", "numba"), "baked_with_corpus"),
}
# Of packages that stand in for others, as netCDF4, rich, xarray and NumPy do.
LIKE_OTHERS = {"dask_csv", "numcodecs", "filelock", "jax", "dill", "hypothesis", "ipython", "distributed", "tables"}


def test_every_remedy_is_observed() -> None:
    assert set(OBSERVED) == set(REINITIALISERS)


@pytest.mark.parametrize("name", but_everyday(OBSERVED, {*OBSERVED} - {*PACKAGES} - LIKE_OTHERS))
def test_what_a_remedy_makes_new_is_old_without_it(request: pytest.FixtureRequest, name: str) -> None:
    baked: Baked = request.getfixturevalue(PACKAGES.get(name, "baked"))
    if name in NEEDS_ROOT and os.geteuid():
        pytest.skip("a shell in a namespace of its own needs root")
    baked.module("plant", "import random, numpy\nGENERATOR = random.Random()\nARRAYS = numpy.random.default_rng()")
    baked.module("asker", "import inspect, sys\nASKED = inspect.getmodule(sys._getframe())")
    baked.module("forking", FORKING)
    observe = OBSERVED[name]

    def bake(*options: str) -> Bake:
        def make(text: str, **environment: str) -> str:
            script = baked.script(text)
            baked.bake(script, *options, **environment)
            return script

        return make

    assert observe(baked, bake())
    assert not observe(baked, bake("--without", name))


@pytest.mark.full
def test_children_close_as_many_files_as_may_be_open(baked: Baked) -> None:
    script = baked.script("import multiprocessing.util\nprint(multiprocessing.util.MAXFD)")
    baked.bake(script)
    limit = ("sh", "-c", 'ulimit -n 99; exec "$@"', "sh")
    assert baked.start(script, before=limit).stdout == "99\n"


def test_generators_of_classes_are_seeded(baked: Baked) -> None:
    text = "class A:\n    own = random.Random()\nkept = {'one': random.Random()}\n"
    baked.module(
        "plant",
        f"import random, types\n{text}shown = types.MappingProxyType({{'two': random.Random()}})\n"
        "def given(own=random.Random(), *, other=random.Random()): return own.random(), other.random()",
    )
    baked.module("address", "import random\nSEEDED = random.Random(id(random.Random(1)))")
    numbers = "plant.A.own.random(), plant.kept['one'].random(), plant.shown['two'].random(), *plant.given(), "
    numbers += "address.SEEDED.random()"
    script = baked.script(f"import plant, address\nprint({numbers})")
    assert "it prints" in reach(baked.bake(script))
    assert not {*baked.start_restored(script).stdout.split()} & {*baked.start_restored(script).stdout.split()}


def test_a_signal_that_the_maker_ignores_is_none_of_the_image(baked: Baked) -> None:
    script = baked.script("import signal\nprint(int(signal.getsignal(10)))")
    command = ["sh", "-c", "trap '' USR1; exec \"$@\"", "sh", *baked.bake_command(script)]
    assert run(command, baked.environment(), 120).status == 0
    assert baked.start_restored(script).stdout == baked.plain(script).stdout == "0\n"


def test_seeds_of_hash_tables_are_those_of_the_image_unless_they_are_to_be_fresh(baked: Baked) -> None:
    """As Rust's library asks for them. Other sizes, and other flags, are no such seeds."""
    for draw in ("os.getrandom(32, 4)", "os.getrandom(16)", "os.urandom(16)"):
        said = baked.bake(baked.script(f"import os\n{draw}\nprint(1)"))
        assert f"ends before line 2, `{draw}`: it asks for entropy" in said
    script = baked.script("import os\nos.getrandom(16, 4)\nprint(1)")
    assert "ends before line 3" in baked.bake(script)
    assert baked.start_restored(script).stdout == "1\n"
    start = baked.start_fresh("MPIIMPORT_SNAPSHOT_HASH_SEEDS", script, MPIIMPORT_SNAPSHOT_HASH_SEEDS="fresh")
    assert start.stdout == "1\n"
    said = baked.bake(script, MPIIMPORT_SNAPSHOT_HASH_SEEDS="fresh")
    assert "ends before line 2, `os.getrandom(16, 4)`: it asks for seeds of hash tables" in said
