"""A process that imports from a cached store: no MPI, nobody waits. Where there is no store it is plain Python.

The first process that finds none leaves a child behind, which fills one for those that come later.
"""

import atexit
import sys

from .. import os, time
from ..digest import Damaged
from ..file_systems import IMAGE_LAYERS, image, image_on
from ..importing.account import Account, file_of
from ..importing.imports import Imports
from ..messages import say
from ..mpi.launcher import is_rank_process
from ..option_table import SESSION
from ..program import working_directory
from ..report.job_notes import notes
from ..report.outcome import CACHED, PLAIN, Outcome
from ..report.outcome import SESSION as FROM_SESSION
from ..store.cache import Cache
from ..store.cache_names import batch_job
from ..store.dependencies import DEPENDENCIES, Dependencies
from ..store.entry import uses
from ..store.index import attach, linker_settings
from ..store.key import FIRST_PROCESS, NO_NAME, NONE_YET
from ..store.launch_validation import CHANGED, HOLDS, VALIDATED_BY_LAUNCH, answer_of_launch
from ..store.no_cache import why_no_place
from ..store.shared_validation import holds
from ..store.store import NoRoom
from .other_start import become_where_cached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..importing.site_answers import Answers
    from ..mpi.launcher import Launch
    from ..options import Options
    from ..report.measured import Report
    from ..store.store import Store
    from .invocation import Invocation

NONE_IN_SESSION = (
    "no session keeps a store for this program, as it is started now, on this node (MPIIMPORT_CACHE=session); "
    "mpiimport session start fills one on each node"
)
# All is as it is meant to be, and nothing is said of it.
COMES_LATER = (NONE_YET, FIRST_PROCESS)
NO_CACHE = (
    "no place for cached stores is there on this node (MPIIMPORT_CACHE); in a batch job mpiimport session start, or "
    "mpiimport run --session, makes one"
)
CHANGED_IN_SESSION = (
    "the tree has changed since the session kept a store for this program; mpiimport session refresh fills another"
)


def import_from_cache(invocation: "Invocation", here: "Launch | None", report: "Report | None") -> None:
    """Import from the cached store for this program, from now on, if there is one. Never raises.

    Where there is none, or what it was made from has changed, one is filled for later processes, but for those of a
    session over several nodes.
    """
    asked = time.monotonic_ns()
    rank = here.rank if here is not None else 0
    try:
        reason = _import_or_fill(invocation, here, report, asked)
    except Exception as exc:
        reason = f"no store is kept: {exc}" if isinstance(exc, NoRoom) else f"no store is kept ({exc!r})"
    finally:
        # What this process starts comes later than that validation.
        os.environ.pop(VALIDATED_BY_LAUNCH, None)
    if reason and report is not None:
        report.bypass(reason)
    says = bool(reason) and reason not in COMES_LATER and rank == 0
    if reason:
        notes.tell(Outcome(PLAIN, reason), said=says)
    if says:
        differs = _difference(invocation) if reason == NONE_IN_SESSION else ""
        say(f"mpiimport: running as plain Python: {reason}{differs}")


def _difference(invocation: "Invocation") -> str:
    """Return what tells this program from the nearest one that has a store here; empty where nobody can say it."""
    from ..store.nearest import difference

    try:
        cache = _cache(invocation.options)
        return difference(cache, invocation.facts()) if cache is not None else ""
    except OSError:
        return ""


def _import_or_fill(invocation: "Invocation", here: "Launch | None", report: "Report | None", asked: int) -> str:
    """Return why there is no store to import from; empty where there is one, or there can be none. Raises NoRoom."""
    key, options = invocation.key(), invocation.options
    cache = _cache(options)
    lasts = options.cache == SESSION
    if not key or cache is None:
        return NONE_IN_SESSION if lasts else NO_CACHE if key else NO_NAME
    attached = Attached.to(cache, key)
    if attached is None and lasts and invocation.unchanged:
        become_where_cached(invocation.program, cache)
    # Those of a session have been filled since that began.
    trusted = lasts or bool(options.session)
    reason = NONE_IN_SESSION if attached is None else attached.doubt(trusted, here, asked)
    if attached is not None and reason:
        attached.leave()
        attached = None
    if not lasts and (attached is None or cache.is_wanted(key)):
        from .cache_filling import Filling

        reason = Filling(cache, key, invocation).leave_filler()
    if attached is None:
        return reason
    rank = here.rank if here is not None else 0
    attached.import_from(Account(set(sys.modules), rank, options.verbose), invocation.answers, report, trusted)
    notes.tell(Outcome(FROM_SESSION if lasts else CACHED, ranks=here.size if here is not None else None))
    return ""


def _cache(options: "Options") -> Cache | None:
    parents = options.store_places()
    cache = Cache.find(parents, options.session)
    waits = options.session or options.cache == SESSION or batch_job()
    if cache is not None or waits:
        return cache
    cache = Cache.make(parents)
    why = why_no_place(parents) if cache is None else ""
    if why:
        raise NoRoom(why)
    return cache


class Attached:
    """The cached store of one key that this process has attached to."""

    def __init__(self, cache: Cache, key: str, store: "Store") -> None:
        """Raises Damaged and OSError."""
        self._index, self._generation = attach(store)
        if not store.is_sealed("code"):
            raise Damaged("the code of the store is damaged")
        self._store = store
        # Paths that were asked for, to validate the store.
        self._validated = 0
        self._cache = cache
        self._key = key

    @classmethod
    def to(cls, cache: Cache, key: str) -> "Attached | None":
        """Attach to the store for a key, if there is a sound one."""
        store = cache.attach(key)
        if store is None:
            return None
        try:
            return cls(cache, key, store)
        except (Damaged, OSError):
            # It is as good as none.
            cache.withdraw(key, store)
            return None

    def leave(self) -> None:
        """Do not import from the store."""
        self._store.leave()

    def doubt(self, trusted: bool, here: "Launch | None", asked: int) -> str:
        """Return why the store is not to be believed, as a session says it; empty where it is valid.

        ``trusted``: nothing has to be validated; ``asked``: ns by CLOCK_MONOTONIC, when this process began to ask.
        """
        index, store = self._index, self._store
        answer = answer_of_launch(self._generation)
        # What the job may write to no store speaks of.
        current = working_directory()
        if current in index.listings and os.access(current, os.W_OK):
            return NONE_IN_SESSION
        trusted = trusted or (answer == HOLDS and here is not None and is_rank_process(here))
        # No launch knows what a container of podman's or docker's mounts.
        trusted = trusted and index.mounts == image()[1] and image_on() != IMAGE_LAYERS
        store.vouched = trusted
        if answer == CHANGED or (not trusted and not holds(store, asked, self._validate)):
            return CHANGED_IN_SESSION
        if not trusted or index.linker != linker_settings():
            index.leave_libraries()
        return ""

    def _validate(self) -> bool:
        try:
            dependencies = Dependencies.unpack(self._store.read(DEPENDENCIES), self._index.dependencies)
        except (Damaged, OSError):
            self._cache.withdraw(self._key, self._store)
            return False
        self._validated = len(dependencies.seen) + len(dependencies.of_image)
        return dependencies.hold()

    def import_from(self, account: Account, answers: "Answers", report: "Report | None", in_session: bool) -> None:
        """Import from the store from now on, and at exit leave word of what it lacks."""
        store = self._store
        store.count_use()
        imports = Imports(self._index, store, None, answers, frozenset(), account)
        imports.install()
        if report is not None:
            report.facts["cached_store"] = {
                "directory": store.directory,
                "age": int(time.time() - store.filled()),
                "validated": self._validated,
                "session": in_session,
                "uses": uses(store.directory),
            }
            report.validated = self._validated
            report.facts["modules_stored"] = len(imports.paths())
            report.measure(imports)
        pid = os.getpid()

        def at_exit() -> None:
            if os.getpid() == pid:
                self._leave_word(account, imports.damaged)

        atexit.register(at_exit)

    def _leave_word(self, account: Account, damaged: bool) -> None:
        """Leave word of what this process imported and the store lacked. Never raises, and imports nothing."""
        index = self._index
        try:
            if damaged:
                # No other process is to attach to it.
                self._cache.withdraw(self._key, self._store)
            new = {
                name
                for name in account.used()[1] - index.expected
                if os.path.dirname(file_of(sys.modules.get(name))) in index.listings
            }
            if new:
                self._cache.want(self._key, new)
        except Exception:
            # The program may have left anything in sys.modules.
            pass
