"""A process that imports from a kept store: no MPI, nobody waits. Where there is no store it is plain Python.

The first process that finds none leaves a child behind, which fills one for those that come later.
"""

import _signal  # type: ignore[import-not-found]
import atexit
import sys

from .. import os, time
from ..digest import Damaged
from ..file_systems import IMAGE_FILE, image, image_on
from ..messages import say
from ..option_table import SESSION
from ..program import working_directory
from ..serving.account import Account, file_of
from ..serving.imports import Imports
from ..store.index import Index, linker_settings
from ..store.kept_key import NO_NAME, key_of, not_there
from ..store.place import LEASE, Place, batch_job
from ..store.witnesses import hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program
    from ..report.measured import Report
    from ..serving.site_answers import Answers
    from ..store.store import Store

NONE_IN_SESSION = (
    "no session keeps a store for this program, as it is started now, on this node (MPIIMPORT_KEEP=session); "
    "mpiimport session start fills one on each node"
)
NONE_YET = "no store is kept for this program as it is now; one is being filled for the next process (MPIIMPORT_KEEP)"
THREADS = "/proc/self/task"
# Seconds within which a program has imported, or has ended: so long its filler stays away from its processors.
STARTING = 3
# Seconds between two looks at whether another has filled it.
LOOK_AGAIN = 0.05


def fill_now(options: "Options", program: "Program", answers: "Answers", before_site: bool, python: str = "") -> None:
    """Fill the store for this program, and end this process, with status 1 where that fails. Does not return.

    ``python``: by which name python-mpi starts this Python; the warm image, too, is kept then where it is wanted.
    """
    try:
        _fill_here(options, program, answers, before_site)
        status = 0
    except Exception as exc:
        say(f"mpiimport: no store is kept: {exc or type(exc).__name__}")
        status = 1
    if options.warm:
        from .warm_image import become_maker

        status = become_maker(options, program, python, status)
    # The program is not to be run, by whichever door this process came.
    os._exit(status)


class NotFilled(Exception):
    """The store is not filled; the message says why, and what to do."""


def _fill_here(options: "Options", program: "Program", answers: "Answers", before_site: bool) -> None:
    key = key_of(program, options, before_site)
    reason = not_there(program) if key else NO_NAME
    if reason:
        raise NotFilled(reason)
    place = Place.found_or_made(options.store_places(), options.session)
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
            return _find(place, key, trusted=True) is not None
        time.sleep(LOOK_AGAIN)
    return False


def import_from_kept(
    options: "Options",
    program: "Program",
    answers: "Answers",
    before_site: bool,
    rank: int,
    report: "Report | None",
    python: str = "",
) -> None:
    """Import from the kept store for this program, from now on, if there is one. Never raises.

    Where there is none, or what it was made from has changed, one is filled for later processes, but for those of a
    session over several nodes. ``rank``: of this process in its job; ``python``: as for ``fill_now``.
    """
    try:
        reason = _import_or_fill(options, program, answers, before_site, rank, report, python)
    except Exception as exc:
        if rank == 0:
            say(f"mpiimport: running as plain Python: no store is kept ({exc!r})")
        return
    if reason and report is not None:
        report.facts["stepped_aside"] = reason
    if reason == NONE_IN_SESSION and rank == 0:
        say(f"mpiimport: running as plain Python: {reason}")


def _import_or_fill(
    options: "Options",
    program: "Program",
    answers: "Answers",
    before_site: bool,
    rank: int,
    report: "Report | None",
    python: str,
) -> str:
    """Return why there is no store to import from; empty where there is one, or there can be none."""
    key = key_of(program, options, before_site)
    place = _place(options)
    lasts = options.keep == SESSION
    reason = NONE_IN_SESSION if lasts else ""
    if not key or place is None:
        return reason
    # Those of a session have been filled since that began.
    found = _find(place, key, trusted=lasts or bool(options.session))
    if not lasts and (found is None or place.is_wanted(key)):
        reason = _leave_filler(place, key, options, program, answers, before_site, python)
    if found is None:
        return reason
    _attach(place, key, *found, options, rank, answers, report)
    return ""


def _place(options: "Options") -> Place | None:
    parents = options.store_places()
    place = Place.find(parents, options.session)
    waits = options.session or options.keep == SESSION or batch_job()
    return place if place is not None or waits else Place.make(parents)


def _find(place: Place, key: str, trusted: bool) -> "tuple[Store, Index] | None":
    """Return the store for a key, if all that it speaks of is as it was; ``trusted``: nothing has to be looked at."""
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
    # What the job may write to no store speaks of.
    trusted = trusted and index.mounts == image()[1]
    if working_directory() in index.listings or not (trusted or hold(index)):
        store.leave()
        return None
    if not trusted or index.linker != linker_settings():
        index.leave_libraries()
    return store, index


def _attach(
    place: Place,
    key: str,
    store: "Store",
    index: Index,
    options: "Options",
    rank: int,
    answers: "Answers",
    report: "Report | None",
) -> None:
    account = Account(set(sys.modules), rank, verbose=options.verbose)
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


def _leave_filler(
    place: Place, key: str, options: "Options", program: "Program", answers: "Answers", before_site: bool, python: str
) -> str:
    """Leave a process behind that fills the store, unless one does; return why there is none yet, or will be none.

    One that ``sitecustomize`` has given threads is not to be forked.
    """
    from ..root.witnesses import Mounts
    from .left_behind import beginning_of, end_first, give_way, keep_only, leave_behind, wait_for_end
    from .warm_image import become_maker

    doubt = Mounts(options.keep_on).doubt(sys.prefix, os.stat(sys.prefix).st_dev)
    if doubt:
        return doubt
    place.complete()
    filling = place.begin_filling(key) if len(os.listdir(THREADS)) == 1 else None
    if filling is None:
        return NONE_YET
    starter = os.getpid()

    def work() -> None:
        keep_only(filling)
        _let_go()
        end_first()
        # Apptainer waits for whoever uses an image that FUSE has mounted.
        if image_on() != IMAGE_FILE:
            give_way()
            wait_for_end(starter, beginning_of(starter), STARTING)
        try:
            _fill(place, key, options, program, answers, before_site)
        finally:
            if options.warm:
                become_maker(options, program, python, 0)

    leave_behind(work)
    os.close(filling)
    return NONE_YET


def _fill(
    place: Place, key: str, options: "Options", program: "Program", answers: "Answers", before_site: bool
) -> None:
    # Before root's own modules need more, which those that come later have not.
    loaded = set(sys.modules)
    from ..root.filling import fill

    place.sweep(LEASE)
    fill(place, key, program, options, loaded, answers, before_site)


def _let_go() -> None:
    """Keep nothing of the rank that this process comes from: neither signals nor binding."""
    for number in _signal.valid_signals():
        if callable(_signal.getsignal(number)):
            _signal.signal(number, _signal.SIG_DFL)
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    except OSError:
        pass
