"""What is made new in each process that starts from an image: one table, in the order in which it is done.

Each row has a test that fails when the row is taken out: tests/snapshots/test_reinitialisers.py. What has no row here
is held by the key, is the kernel's (umask, limits, priority, current directory), or keeps a module out of the snapshot.
"""

import gc
import os
import sys

from ..lazy_modules import executed
from . import package_reinitialisers
from .start_data import Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Paths, as graph.py writes them, of generators that a start seeds anew, and of what else it makes new, where the
# program has not set them.
SEEDED_ANEW = ("random:_inst", "numpy.random.mtrand:_rand")
AUTHENTICATION_KEY, LOGGING_BEGAN = "multiprocessing.process:_current_process._config.authkey", "logging:_startTime"
# See mpiimport/runtime/startup/activation.py and mpiimport/runtime/report/job_notes.py.
PYTHONPATH, JOB = b"_MPIIMPORT_PATH", b"_MPIIMPORT_JOB"
UNLESS_SET = (*SEEDED_ANEW, AUTHENTICATION_KEY, LOGGING_BEGAN)


def _environment(start: Start) -> None:
    """``os.environ`` and C's ``environ``: those of this process, with what imports have changed."""
    given = variables_of(start.freeze.environ())
    posix: Any = sys.modules["posix"]
    if given.pop(JOB, None) is not None:
        posix.unsetenv(JOB)
    if PYTHONPATH in given:
        given[b"PYTHONPATH"] = given.pop(PYTHONPATH)
        posix.putenv(b"PYTHONPATH", given[b"PYTHONPATH"])
        posix.unsetenv(PYTHONPATH)
    seen = {**given, **start.python_changes}
    data: Any = os.environ._data  # type: ignore[attr-defined]
    # Most often they are one dictionary.
    posix.environ.clear()
    posix.environ.update(given)
    data.clear()
    data.update((name, value) for name, value in seen.items() if value is not None)
    for name, value in start.c_changes.items():
        if value is None:
            posix.unsetenv(name)
        else:
            posix.putenv(name, value)


def _after_fork(start: Start) -> None:
    """Locks, thread identifiers, and what Python's own modules registered for forks: ``random`` among them."""
    start.freeze.after_fork()
    start.fork_handlers.bring_back()
    random: Any = executed("random")
    if random is not None and "random:_inst" in start.settled:
        random._inst.setstate(start.settled["random:_inst"])


def _native_id(start: Start) -> None:
    """The kernel's number of the main thread, which ``threading`` keeps from when it was imported."""
    threading: Any = executed("threading")
    if threading is not None:
        threading.main_thread()._set_native_id()


def _command_line(start: Start) -> None:
    """``sys.orig_argv`` and ``sys.argv``."""
    words = [os.fsdecode(word) for word in start.words]
    sys.orig_argv[:] = words
    sys.argv[:] = words[start.own :]


def _streams(start: Start) -> None:
    """The standard streams, in place, for loggers and modules keep them: buffering and terminal of this process."""
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        stream: Any = getattr(sys, name)
        try:
            os.fstat(number)
        except OSError:
            # As the interpreter leaves it where the descriptor is closed.
            setattr(sys, name, None)
            setattr(sys, f"__{name}__", None)
            continue
        _renew(stream, number, start.lines.get(name))
    for messages in (start.freeze.messages, executed("mpiimport.runtime.messages")):
        if messages is not None:
            messages._at_start = messages._file()


def _renew(stream: "Any", number: int, by_line: bool | None) -> None:
    """Do what Python/pylifecycle.c, create_stdio, does, to what is there. ``by_line``: what imports have chosen."""
    encoding, errors, name = stream.encoding, stream.errors, stream.name
    through, mode = stream.write_through, "r" if number == 0 else "w"
    buffer = stream.buffer
    unbuffered = not hasattr(buffer, "raw")
    raw = buffer if unbuffered else buffer.raw
    # It remembers whether it can seek.
    raw = type(raw)(number, mode + "b", closefd=False)
    if unbuffered:
        buffer = raw
    else:
        buffer.__init__(raw, _buffer_size(raw))
    raw.name = name
    lines = not through and (number == 2 or raw.isatty()) if by_line is None else by_line
    stream.__init__(buffer, encoding, errors, newline="\n", line_buffering=lines, write_through=through)
    stream.mode = mode


def _buffer_size(raw: "Any") -> int:
    """Return the size that ``open`` takes, by Modules/_io/_iomodule.c."""
    size: int = raw._blksize
    return max(min(size, 8 << 20), 128 << 10) if sys.version_info >= (3, 14) else size


def _signals(start: Start) -> None:
    """A signal that was ignored when this process was started (nohup) is so for the module ``signal``, too, unless an
    import has said what is done then."""
    import _signal  # type: ignore[import-not-found]

    with open("/proc/self/status", "rb") as stream:
        ignored = next(int(line.split()[1], 16) for line in stream if line.startswith(b"SigIgn:"))
    for number in start.signals:
        start.freeze.handle(number)
    for number in _signal.valid_signals() - start.signals:
        if ignored >> (number - 1) & 1 and _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _signal.SIG_IGN)


def _generators(start: Start) -> None:
    """``random.Random()``, ``numpy.random.default_rng()``, and PyTorch's generators that imports have made."""
    for generator in start.generators:
        package_reinitialisers.seed_anew(generator)


def _logging(start: Start) -> None:
    """``logging`` counts milliseconds (``relativeCreated``) from the time when it was imported."""
    logging: Any = executed("logging")
    if logging is not None and LOGGING_BEGAN not in start.settled:
        import time

        logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()


def _multiprocessing(start: Start) -> None:
    """The key by which processes of ``multiprocessing`` know each other, the directory they begin in, and how many
    files may be open."""
    util: Any = executed("multiprocessing.util")
    if util is not None:
        util.MAXFD = os.sysconf("SC_OPEN_MAX")
    process: Any = executed("multiprocessing.process")
    if process is not None:
        try:
            process.ORIGINAL_DIR = os.path.abspath(os.getcwd())
        except OSError:
            process.ORIGINAL_DIR = None
        if AUTHENTICATION_KEY not in start.settled:
            process._current_process._config["authkey"] = process.AuthenticationString(os.urandom(32))


def _platform(start: Start) -> None:
    """``platform`` keeps the host's name with the rest of what uname(2) says, and with the processor."""
    platform: Any = executed("platform")
    kept: Any = getattr(platform, "_uname_cache", None)
    if kept is not None:
        now = os.uname()
        names = platform.uname_result(kept.system, now.nodename, now.release, now.version, now.machine)
        # Who asks for it again starts a process.
        vars(names).update(vars(kept))
        platform._uname_cache = names


def _inspect(start: Start) -> None:
    """``inspect.getmodule`` keeps which file is which module's, relative names by the current directory. It finds them
    again."""
    inspect: Any = executed("inspect")
    if inspect is not None:
        inspect.modulesbyfile.clear()
        inspect._filesbymodname.clear()


def _time_zone(start: Start) -> None:
    """``time.timezone`` and ``time.tzname`` follow from the year, and modules that read dates ask them."""
    import time

    time.tzset()


def _temporary_names(start: Start) -> None:
    """Names of temporary files, which follow a generator that ``tempfile`` makes anew where the process number has
    changed; in two namespaces it may be the same."""
    for names in start.objects["tempfile._RandomNameSequence"]:
        names._rng_pid = None


REINITIALISERS: "dict[str, Callable[[Start], None]]" = {
    "environment": _environment,
    "after_fork": _after_fork,
    "native_id": _native_id,
    "command_line": _command_line,
    "streams": _streams,
    "signals": _signals,
    "time_zone": _time_zone,
    "temporary_names": _temporary_names,
    "generators": _generators,
    "logging": _logging,
    "platform": _platform,
    "inspect": _inspect,
    "multiprocessing": _multiprocessing,
    **package_reinitialisers.REINITIALISERS,
}


def named(module: "Any", key: str) -> "Any":
    """Return what a module has at a path: attributes and entries of dictionaries by names, and places in sequences."""
    found, mappings = module, (dict, type(type.__dict__))
    for part in key.replace("[", ".[").split("."):
        if part.startswith("["):
            found = found[int(part[1:-1])]
        else:
            found = found[part] if isinstance(found, mappings) else getattr(found, part)
    return found


def objects_of(classes: "tuple[str, ...]") -> "dict[str, list[Any]]":
    """Return the objects of classes, by MODULE.CLASS, and of those derived from them; none of what is not imported."""
    found: dict[str, list[Any]] = {}
    for name in classes:
        module, _, kind = name.rpartition(".")
        wanted = getattr(executed(module), kind, None)
        found[name] = [each for each in gc.get_objects() if issubclass(type(each), wanted)] if wanted else []
    return found


def variables_of(environ: list[bytes]) -> dict[bytes, bytes]:
    """Return C's list of ``NAME=value`` as ``os`` takes it: the first of a name counts."""
    found: dict[bytes, bytes] = {}
    for entry in environ:
        name, separator, value = entry.partition(b"=")
        if separator and name:
            found.setdefault(name, value)
    return found
