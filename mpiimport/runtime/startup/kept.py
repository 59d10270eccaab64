"""A process that imports from a kept store: no MPI, nobody waits. Where there is no store it is plain Python.

The first process that finds none leaves a child behind, which fills one for those that come later.
"""

import _signal  # type: ignore[import-not-found]
import atexit
import sys

from .. import os, time
from ..digest import Damaged
from ..listing import stamp_of
from ..messages import say
from ..serving.account import Account, file_of
from ..serving.imports import Imports
from ..store.index import Index
from ..store.place import Place, batch_job, key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program
    from ..report.measured import Report
    from ..serving.site_answers import Answers
    from ..store.store import Store

NONE_YET = "no store is kept for this program as it is now; one is being filled for the next process (MPIIMPORT_KEEP)"
# Of the filler: it takes what nobody else wants.
IDLE = 19
THREADS = "/proc/self/task"
# Seconds between two looks at whether another has filled it.
LOOK_AGAIN = 0.05
# Seconds after which a store is given up that nobody has come to.
LEASE = 24 * 3600


def fill_now(options: "Options", program: "Program", answers: "Answers", before_site: bool) -> None:
    """Fill the store for this program, and end this process, with status 1 where that fails. Does not return."""
    try:
        _fill_here(options, program, answers, before_site)
        status = 0
    except Exception as exc:
        say(f"mpiimport: no store is kept: {exc or type(exc).__name__}")
        status = 1
    # The program is not to be run, by whichever door this process came.
    os._exit(status)


class NotFilled(Exception):
    """The store is not filled; the message says why, and what to do."""


def _fill_here(options: "Options", program: "Program", answers: "Answers", before_site: bool) -> None:
    key = key_of(program, options, before_site)
    parents = options.store_places()
    place = Place.find(parents) or Place.make(parents)
    if not key:
        raise NotFilled("the program is read from standard input; give it a file of its own")
    if place is None:
        raise NotFilled(f"none of {', '.join(parents)} can be written to; name another directory with MPIIMPORT_STORE")
    if not program.is_there():
        raise NotFilled(f"{program.target} cannot be read or compiled; name a program that runs")
    filling = place.begin_filling(key, rest=0)
    if filling is not None:
        _fill(place, key, options, program, answers, before_site)
    elif not _others_fill(place, key, options.deadline):
        raise NotFilled("another process has been filling it, and has not come to an end; look for that")


def _others_fill(place: Place, key: str, seconds: int) -> bool:
    """Wait for the process that fills a store, another rank of this job say. Tell whether there is one then."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        filling = place.begin_filling(key, rest=0)
        if filling is not None:
            os.close(filling)
            return _find(place, key) is not None
        time.sleep(LOOK_AGAIN)
    return False


def import_from_kept(
    options: "Options", program: "Program", answers: "Answers", before_site: bool, report: "Report | None"
) -> None:
    """Import from the kept store for this program, from now on, if there is one. Never raises.

    Where there is none, or what it was made from has changed, one is filled for later processes.
    """
    try:
        key = key_of(program, options, before_site)
        place = _place(options)
        if not key or place is None:
            return
        found = _find(place, key)
        if found is None or place.is_wanted(key):
            _leave_filler(place, key, options, program, answers, before_site)
        if found is not None:
            _attach(place, key, *found, options, program, answers, report)
        elif report is not None:
            report.facts["stepped_aside"] = NONE_YET
    except Exception as exc:
        say(f"mpiimport: running as plain Python: no store is kept ({exc!r})")


def _place(options: "Options") -> Place | None:
    parents = options.store_places()
    place = Place.find(parents)
    return place if place is not None or batch_job() else Place.make(parents)


def _find(place: Place, key: str) -> "tuple[Store, Index] | None":
    """Return the store for a key, if all that it speaks of is as it was."""
    store = place.attach(key)
    if store is None:
        return None
    try:
        index = Index.unpack(store.read_index())
        store.open_code()
    except (Damaged, OSError):
        # It is as good as none.
        place.withdraw(key, store)
        return None
    if not _is_fresh(index):
        store.leave()
        return None
    return store, index


def _attach(
    place: Place,
    key: str,
    store: "Store",
    index: Index,
    options: "Options",
    program: "Program",
    answers: "Answers",
    report: "Report | None",
) -> None:
    account = Account(set(sys.modules), rank=0, verbose=options.verbose)
    imports = Imports(index, store, None, answers, frozenset(), account)
    imports.install()
    if report is not None:
        report.facts["kept_store"] = {"directory": store.directory, "age": int(time.time() - store.filled())}
        report.facts["modules_stored"] = len(imports.paths())
        report.measure(imports)
    pid = os.getpid()

    def tell() -> None:
        if os.getpid() == pid:
            _tell(place, key, index, account)

    atexit.register(tell)


def _tell(place: Place, key: str, index: Index, account: Account) -> None:
    """At exit, leave word of what this process imported and nobody knew of. Never raises, and imports nothing."""
    try:
        new = {
            name
            for name in account.used()[1] - index.expected
            if os.path.dirname(file_of(sys.modules.get(name))) in index.listings
        }
        if new:
            place.want(key, new)
    except Exception:
        # The program may have left anything in sys.modules.
        pass


def _is_fresh(index: Index) -> bool:
    """Tell whether all that the store speaks of is as it was. What the job may write to it does not speak of."""
    here = os.getcwd()
    return here not in index.listings and all(stamp_of(path) == seen for path, seen in index.witnesses.items())


def _leave_filler(
    place: Place, key: str, options: "Options", program: "Program", answers: "Answers", before_site: bool
) -> None:
    """Leave a process behind that fills the store, unless one does, and go on without waiting for it.

    One that ``sitecustomize`` has given threads is not to be forked.
    """
    filling = place.begin_filling(key) if len(os.listdir(THREADS)) == 1 else None
    if filling is None:
        return
    child = os.fork()
    if child:
        os.close(filling)
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            _let_go(filling)
            _fill(place, key, options, program, answers, before_site)
    finally:
        os._exit(0)


def _fill(
    place: Place, key: str, options: "Options", program: "Program", answers: "Answers", before_site: bool
) -> None:
    from ..root.filling import fill

    place.sweep(LEASE)
    fill(place, key, program, options, answers, before_site)


def _let_go(filling: int) -> None:
    """Keep nothing of the rank that this process comes from: its descriptors, signals, binding and priority."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    low = 3
    for descriptor in (filling, os.sysconf("SC_OPEN_MAX")):
        os.closerange(low, descriptor)
        low = descriptor + 1
    for number in _signal.valid_signals():
        if callable(_signal.getsignal(number)):
            _signal.signal(number, _signal.SIG_DFL)
    os.nice(IDLE)
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    except OSError:
        pass
