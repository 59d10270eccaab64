"""Rows of the table in reinitialisers.py for packages. Each does nothing where its module is not in the snapshot."""

import os
import sys

from ..lazy_modules import executed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .start_data import Start


def _numpy(start: "Start") -> None:
    """NumPy's legacy generator, which ``numpy.random.rand`` and others use."""
    legacy: Any = executed("numpy.random.mtrand")
    if legacy is not None and "numpy.random.mtrand:_rand" not in start.settled:
        seed_anew(legacy._rand)


def seed_anew(generator: "Any") -> None:
    """Seed a generator as a new one is, and with NumPy the sequence from which it spawns others."""
    bits: Any = getattr(generator, "bit_generator", None) or getattr(generator, "_bit_generator", None)
    sequence: Any = getattr(bits, "seed_seq", None) or getattr(bits, "_seed_seq", None)
    if type(sequence).__name__ == "SeedSequence":
        spawned = {name: getattr(sequence, name) for name in ("spawn_key", "pool_size", "n_children_spawned")}
        sequence.__init__(**spawned)
        bits.state = type(bits)(sequence).state
    elif hasattr(generator, "seed"):
        generator.seed()
    else:
        bits.state = type(bits)().state


def _numpy_testing(start: "Start") -> None:
    """The file that tells how much memory the process has, and how long it has run: an argument of two functions."""
    utilities: Any = executed("numpy.testing._private.utils")
    for name in ("memusage", "jiffies") if utilities is not None else ():
        function: Any = getattr(utilities, name, None)
        first, *rest = getattr(function, "__defaults__", None) or (None,)
        if isinstance(first, str) and first.startswith("/proc/"):
            function.__defaults__ = f"/proc/{os.getpid()}/stat", *rest


def _f2py(start: "Start") -> None:
    """``numpy.f2py`` writes the time of its import into the code that it makes."""
    rules: Any = executed("numpy.f2py.rules")
    if rules is not None:
        import time

        before, now = rules.generationtime, int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
        rules.generationtime = now
        text = rules.module_rules["modulebody"]
        stamps = (time.asctime(time.gmtime(moment)) for moment in (before, now))
        rules.module_rules["modulebody"] = text.replace(*stamps)


def _sympy(start: "Start") -> None:
    """The number from which ``sympy.Dummy`` counts, so that those of two processes are never equal.

    Those that imports have made keep theirs: expressions and caches know them by it. New ones lie above, so none of
    them is equal to one of those.
    """
    symbol: Any = executed("sympy.core.symbol")
    if symbol is not None:
        kind = symbol.Dummy
        kind._base_dummy_index += kind._prng.randint(10**6, 9 * 10**6)


def _dateutil(start: "Start") -> None:
    """The year by which ``dateutil`` reads years of two digits."""
    for info in start.objects["dateutil.parser._parser.parserinfo"]:
        import time

        info._year = time.localtime().tm_year
        info._century = info._year // 100 * 100


def _psutil(start: "Start") -> None:
    """What ``psutil.cpu_percent`` and others count from: the time of their import."""
    psutil: Any = executed("psutil")
    if psutil is not None:
        thread: Any = sys.modules["threading"].get_ident()
        psutil._last_cpu_times = {thread: psutil.cpu_times()}
        psutil._last_per_cpu_times = {thread: psutil.cpu_times(percpu=True)}
        for name in ("_last_cpu_times", "_last_per_cpu_times"):
            if hasattr(psutil, name + "_2"):
                setattr(psutil, name + "_2", getattr(psutil, name).copy())


def _urllib3(start: "Start") -> None:
    """Whether the system can bind an address of IPv6."""
    connection: Any = executed("urllib3.util.connection")
    if connection is not None:
        connection.HAS_IPV6 = connection._has_ipv6("::1")


def _numba(start: "Start") -> None:
    """How wide the terminal is, to which messages are written."""
    functions: Any = executed("numba.core.types.functions")
    if functions is not None:
        functions._termwidth = functions.get_terminal_size().columns


def _dask(start: "Start") -> None:
    """How many processors the control group may use: what has followed from it, cannot be made new."""
    system: Any = executed("dask.system")
    if system is not None:
        count = system.cpu_count()
        if count != system.CPU_COUNT:
            raise RuntimeError(f"dask has counted {system.CPU_COUNT} processors, and may use {count}")


def _another_number(start: "Start") -> None:
    """Libraries that know a new process by its number: OpenSSL takes another seed then, and numexpr other threads."""
    if os.getpid() in start.numbers and any(executed(name) is not None for name in NUMBERED):
        raise RuntimeError(f"this process has the number {os.getpid()}, as the maker had")


def _tokens(start: "Start") -> None:
    """What locks that can be pickled, and functions that dask delays, differ by from those of other processes."""
    new: dict[str, str] = {}
    for kind in LOCKS:
        for lock in start.objects[kind]:
            token = lock.token
            if type(token) is str and len(token) == LENGTH_OF_TOKEN:
                lock.token = new.setdefault(token, _token())
                lock._locks.pop(token, None)
                lock._locks[lock.token] = lock.lock
    for leaf in start.objects[DELAYED]:
        name, token = leaf._key[:-LENGTH_OF_TOKEN], leaf._key[-LENGTH_OF_TOKEN:]
        if token.count("-") == DASHES_OF_TOKEN and not leaf._pure:
            leaf._key = leaf._layer = name + new.setdefault(token, _token())


def _token() -> str:
    module: Any = sys.modules["uuid"]
    return str(module.uuid4())


def _netcdf(start: "Start") -> None:
    """The current directory, from which netCDF's library takes settings, and names of files: none but the maker's."""
    if executed("netCDF4._netCDF4") is not None and os.readlink("/proc/self/cwd") != start.directory:
        raise RuntimeError(f"netCDF has begun in {start.directory}, and this is another directory")


def _rich(start: "Start") -> None:
    """The directory to which ``rich`` takes names of files, and where it begins to count links."""
    rich: Any = executed("rich")
    if hasattr(rich, "_IMPORT_CWD"):
        try:
            rich._IMPORT_CWD = os.path.abspath(os.getcwd())
        except OSError:
            rich._IMPORT_CWD = ""
    style: Any = executed("rich.style")
    if hasattr(style, "_id_generator"):
        style._id_generator = style.count(style.getrandbits(24))


def _dask_csv(start: "Start") -> None:
    """How many bytes a part of a file has, by the memory and the processors that there are."""
    csv: Any = executed("dask.dataframe.io.csv")
    if csv is not None:
        csv.AUTO_BLOCKSIZE = csv._infer_block_size()


def _numcodecs(start: "Start") -> None:
    """The number of the process that has threads of blosc: a child does without."""
    blosc: Any = executed("numcodecs.blosc")
    if blosc is not None:
        blosc._importer_pid = os.getpid()


def _filelock(start: "Start") -> None:
    """The number of the process whose locks ``filelock`` keeps: there are none yet."""
    interface: Any = executed("filelock._api")
    if hasattr(interface, "_FORK_STATE"):
        interface._FORK_STATE.pid = os.getpid()


def _jax(start: "Start") -> None:
    """Whether what is printed has colours. With a TPU, which belongs to a process, JAX begins otherwise."""
    hardware: Any = executed("jax._src.hardware_utils")
    if hardware is not None and hardware.num_available_tpu_chips_and_device_id()[0]:
        raise RuntimeError("there is a TPU")
    printer: Any = executed("jax._src.pretty_printer")
    if printer is not None:
        printer.CAN_USE_COLOR = printer._can_use_color()


def _dill(start: "Start") -> None:
    """The directory for temporary files: what has followed from it, cannot be made new."""
    session: Any = executed("dill.session")
    if session is not None:
        found = session.tempfile._get_default_tempdir()
        if found != str(session.TEMPDIR):
            raise RuntimeError(f"dill has {session.TEMPDIR} for temporary files, and this process {found}")


def _hypothesis(start: "Start") -> None:
    """Where ``hypothesis`` keeps examples, below the current directory, and when it was imported."""
    configuration: Any = executed("hypothesis.configuration")
    if configuration is not None:
        configuration.__hypothesis_home_directory_default = configuration.Path.cwd() / ".hypothesis"
    observability: Any = executed("hypothesis.internal.observability")
    if observability is not None:
        observability._imported_at = observability.time.time()


def _ipython(start: "Start") -> None:
    """How many years ago something was, in the tips of IPython: they are those of one year."""
    tips: Any = executed("IPython.core.tips")
    if tips is not None:
        age = f" {tips.datetime.now().year - 2001} years ago"
        if not any(age in tip for tip in tips._tips["every_year"].values()):
            raise RuntimeError("IPython's tips are those of another year")


def _distributed(start: "Start") -> None:
    """How much memory ``distributed`` may use, and what begins the names of its futures."""
    system: Any = executed("distributed.system")
    if system is not None:
        system.MEMORY_LIMIT = system.memory_limit()
        tcp: Any = executed("distributed.comm.tcp")
        if tcp is not None:
            tcp.MEMORY_LIMIT = system.MEMORY_LIMIT
            tcp.MAX_BUFFER_SIZE = system.MEMORY_LIMIT / 2
    client: Any = executed("distributed.client")
    if client is not None:
        client.Future._uid = client.uuid.uuid4().hex


def _tables(start: "Start") -> None:
    """The time from which the tests of PyTables count."""
    tests: Any = executed("tables.tests.common")
    if tests is not None:
        tests.ShowMemTime.tref = tests.clock()


# A token as uuid4 makes them.
LENGTH_OF_TOKEN, DASHES_OF_TOKEN = 36, 4
LOCKS = tuple(f"{name}.SerializableLock" for name in ("xarray.backends.locks", "dask.utils", "donfig._lock"))
DELAYED = "dask.delayed.DelayedLeaf"
# Classes whose objects have tokens.
WITH_TOKEN = (*LOCKS, DELAYED)
# Modules that have OpenSSL take its seed.
WITH_OPENSSL = ("aiohttp.connector", "paramiko.transport")
# Modules with libraries that know a process by its number.
NUMBERED = ("numexpr", "pyarrow.lib", *WITH_OPENSSL)
# Classes whose objects are looked for when the image is made.
CLASSES = ("dateutil.parser._parser.parserinfo", "tempfile._RandomNameSequence", *WITH_TOKEN)
REINITIALISERS: "dict[str, Callable[[Start], None]]" = {
    "numpy": _numpy,
    "numpy_testing": _numpy_testing,
    "f2py": _f2py,
    "sympy": _sympy,
    "dateutil": _dateutil,
    "psutil": _psutil,
    "urllib3": _urllib3,
    "dask": _dask,
    "numba": _numba,
    "another_number": _another_number,
    "tokens": _tokens,
    "netcdf": _netcdf,
    "rich": _rich,
    "dask_csv": _dask_csv,
    "numcodecs": _numcodecs,
    "filelock": _filelock,
    "jax": _jax,
    "dill": _dill,
    "hypothesis": _hypothesis,
    "ipython": _ipython,
    "distributed": _distributed,
    "tables": _tables,
}
