"""MPI started by us, and what the user's own MPI calls then see: what they would see without us.

Our import of mpi4py is taken out of ``sys.modules``; when user code imports mpi4py, its Python part is loaded
as usual and the loaded ``mpi4py.MPI`` is handed over under the user's own ``mpi4py.rc``.
"""

from _frozen_importlib_external import spec_from_file_location

from .. import os
from ..c_functions import address, open_library, when_interpreter_has_ended
from ..messages import say
from ..option_table import MPI_INIT, THREAD_LEVELS
from .error_handlers import handle_as_mpi, handle_as_mpi4py, handle_at_exit
from .exit_of_program import behind_destructors, heed_abort_status, take_handlers
from .extension import complete
from .openshmem import is_open, thread_level
from .pmi_connection import Connection
from .private_import import NoMpi, import_privately, own_packages
from .rc_settings import MPI_MODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from .rc_settings import Settings

LEFT_TO_HEIR = (
    "mpiimport ended MPI for a program that this process was to become, by an exec that then failed; "
    "set MPIIMPORT_INIT=off (or init in the site profile)"
)


class Ownership:
    """The MPI that this process has initialised.

    ``mpi``: the module ``mpi4py.MPI``; ``path``: its file; ``read_at_load``: the settings it was loaded with;
    ``given``: the module that user code got, ``mpi`` or a copy of it; ``adopted``: user code has taken MPI over;
    ``is_told_to_abort``: the program itself wants its end to end the job; ``of_the_tree``: it finds the same mpi4py.
    """

    def __init__(self, before_site: bool, preload: tuple[str, ...]) -> None:
        """Import mpi4py without starting MPI; the arguments are those of ``import_privately``. Raises NoMpi."""
        self._pid = os.getpid()
        self.adopted = False
        self._started = self._finalize = self._aborting = self._left_to_heir = False
        self.is_told_to_abort = False
        self._asked, self._is_guess = "", False
        self._provided = self._status = 0
        self._work: list[Callable[[], None]] = []
        self._launcher = Connection()
        self.mpi: ModuleType
        self.mpi, self.read_at_load = import_privately(before_site, preload)
        self.given: ModuleType | None = None
        # Kept, for user code may be given another answer, and be listened to.
        self._is_initialized: Callable[[], bool] = self.mpi.Is_initialized
        self._set_abort_status: Callable[[int], None] = self.mpi._set_abort_status
        self.path: str = self.mpi.__file__ or ""
        self.of_the_tree = not self.path.startswith(own_packages() + "/")

    def start(self, level: str, is_guess: bool) -> None:
        """Start MPI with the thread level ``level``, or MPI_INIT. Raises NoMpi.

        ``is_guess``: nobody has set that level; the program seems to ask for it.
        """
        if self._is_initialized():
            raise NoMpi("MPI is already initialised in this process")
        self._is_guess = is_guess
        if level == MPI_INIT:
            self.mpi.Init()
            self._asked, self._provided = THREAD_LEVELS[0], self.mpi.Query_thread()
        else:
            self._asked, self._provided = level, self.mpi.Init_thread(_level(self.mpi, level))
        self._started = self._finalize = True

    def spec(self, name: str) -> "ModuleSpec | None":
        """Return the spec of ``mpi4py.MPI``, for which mpi4py need not look for MPI; None for other names."""
        return spec_from_file_location(name, self.path) if name == MPI_MODULE and self.of_the_tree else None

    def supports(self) -> None:
        """Raise NoMpi where this MPI is older than MPI-3 (nonblocking collectives, groups)."""
        version = self.mpi.Get_version()
        if version < (3, 0):
            raise NoMpi(f"this MPI is version {version[0]}.{version[1]}; MPI 3.0 or newer is needed")

    def active(self) -> bool:
        """Tell whether this process, not a forked child, has MPI between Init and Finalize."""
        return os.getpid() == self._pid and self._is_initialized() and not self.mpi.Is_finalized()

    def end_startup(self) -> None:
        """Leave MPI to the program as MPI_Init leaves it."""
        handle_as_mpi(self.mpi)

    def hand_over(self, module: "ModuleType", settings: "Settings") -> None:
        """Let user code that imports ``module``, ``mpi`` or a copy of it, find MPI as its ``mpi4py.rc`` asks for."""
        if self.given is not None:
            return
        if self._left_to_heir:
            raise RuntimeError(LEFT_TO_HEIR)
        self.given = module
        if module is self.mpi:
            complete(module)
        heed_abort_status(module, self._tell_to_abort)
        if self._started and is_open():
            # OpenSHMEM started it, as the program sees it, and ends it.
            self._adopt(False, THREAD_LEVELS[thread_level()])
        elif self._started and settings.initialize:
            self._adopt(settings.finalize, settings.level)
        elif self._started:
            self._defer(settings)
            return
        elif module is self.mpi:
            self._start_for_user(settings)
        if self.active():
            handle_as_mpi4py(self.mpi, settings.errors)

    def will_finalize(self) -> bool:
        """Tell whether this process is to finalise MPI at its exit, by itself or with OpenSHMEM.

        User code may keep that for itself; a forked child and a job about to be aborted are left alone.
        """
        return self.active() and not self.aborts() and (self._finalize or is_open())

    def before_finalize(self, work: "Callable[[], None]") -> None:
        """Have ``work`` done where MPI_Finalize is called: that first deletes what COMM_SELF carries (MPI 11.2.4)."""
        mpi: Any = self.mpi
        self._work = left = [work]

        def deleted(communicator: "Any", keyval: int, value: object) -> None:
            for each in left:
                each()

        mpi.COMM_SELF.Set_attr(mpi.Comm.Create_keyval(delete_fn=deleted), None)

    def begin_exit(self) -> None:
        """At exit, behind the program's exit handlers, and before this rank waits for others."""
        if self.will_finalize() or self.aborts():
            take_handlers(waits_plainly=self._is_in_use())

    def finish(self) -> None:
        """At exit, after all other exit handlers, see to MPI_Finalize, unless OpenSHMEM does."""
        shared = is_open()
        # By now it is done, and what it needs may be gone when MPI is finalised.
        self._work.clear()
        if self.will_finalize():
            if self.given is None:
                handle_at_exit(self.mpi)
            if not shared:
                self._finalize_after_interpreter()
        elif self.aborts() and shared:
            # Its end would come before that of mpi4py, and wait for all.
            self.mpi.COMM_WORLD.Abort(self._status)

    def finish_at_once(self, becomes: bool) -> None:
        """Before ``os._exit``, or ``exec`` as ``becomes`` tells, finalise where user code never touched MPI.

        Without us the one ends no other rank, and after the other MPI may start. Where user code has finalised MPI the
        launcher hears of it, which would else kill ranks that are at their own end.
        """
        if os.getpid() != self._pid:
            return
        if self._is_in_use() or (self._is_initialized() and not self._started):
            if self.mpi.Is_finalized() and not becomes:
                self._launcher.end()
            return
        if becomes:
            # Nothing in MPI undoes that where the exec should fail against all appearances.
            self._left_to_heir = self._started
            self._launcher.leave_to_heir(self._finalize_now)
        else:
            self._finalize_now()
            self._launcher.end()

    def _finalize_after_interpreter(self) -> None:
        """Have MPI_Finalize called where mpi4py calls it, after destructors that free MPI objects.

        A destructor that finalises MPI itself, from C too, is the last to do so.
        """
        finalize = when_interpreter_has_ended(address(open_library(self.path), "MPI_Finalize"))
        is_finalized = self.mpi.Is_finalized
        behind_destructors(lambda: is_finalized() or finalize())

    def _is_in_use(self) -> bool:
        """Tell whether user code has taken over the MPI that we started, or OpenSHMEM has."""
        return self.adopted or is_open()

    def _finalize_now(self) -> None:
        if self._started and self.active():
            self.mpi.Finalize()

    def abort_at_exit(self, status: int) -> None:
        """Make the end of this process end the job, as ``python -m mpi4py`` does after an exception."""
        if self.active() and not self.is_told_to_abort:
            self._aborting, self._status = True, status
            self._set_abort_status(status)

    def aborts(self) -> bool:
        """Tell whether the end of this process is to end the job."""
        return (self._aborting or self.is_told_to_abort) and self.active()

    def end_without_abort(self) -> None:
        """End as if no exception had been; MPI is finalised where it would be."""
        self._aborting = False
        self._set_abort_status(0)

    def _tell_to_abort(self, status: int) -> None:
        self.is_told_to_abort = bool(status)

    def _start_for_user(self, settings: "Settings") -> None:
        """Do what mpi4py does when it is imported, which it did for us and cannot do again."""
        mpi: Any = self.mpi
        if self._is_initialized():
            return
        self._finalize = settings.finalize
        if settings.initialize and settings.threads:
            mpi.Init_thread(_level(mpi, settings.level))
        elif settings.initialize:
            mpi.Init()

    def _adopt(self, finalize: bool, level: str) -> None:
        """Give the MPI that we started to user code, which asked for the thread level ``level``."""
        mpi: Any = self.given
        self.adopted = True
        self._finalize = finalize
        asked = _level(mpi, level)
        if level != self._asked and _order(mpi, asked) < _order(mpi, self._provided):
            # An MPI gives the level that it is asked for, wherever it can.
            self._provided = asked
            mpi.Query_thread = lambda: asked
        elif self._is_guess and _order(mpi, asked) > _order(mpi, _level(mpi, self._asked)) and not mpi.COMM_WORLD.rank:
            say(
                f"mpiimport: MPI was started with thread level {self._asked!r}, as the script seems to want, and "
                f"mpi4py asks for {level!r}: set MPIIMPORT_THREAD_LEVEL={level}"
            )

    def _defer(self, settings: "Settings") -> None:
        """Make MPI look uninitialised until user code calls Init or Init_thread, which then adopts it."""
        mpi: Any = self.given
        real = {name: getattr(mpi, name) for name in ("Init", "Init_thread", "Is_initialized", "Query_thread")}

        def adopt(required: int) -> int:
            if is_open():
                # It ends the job.
                real["Init"]()
            names = [THREAD_LEVELS[_order(mpi, level)] for level in (self._provided, required)]
            if _order(mpi, required) > _order(mpi, self._provided) and not self._is_guess:
                raise RuntimeError(
                    f"mpiimport started MPI with thread level {names[0]!r} and this call asks for {names[1]!r}: "
                    f"set MPIIMPORT_THREAD_LEVEL={names[1]} (or thread_level in the site profile)"
                )
            for name, function in real.items():
                setattr(mpi, name, function)
            self._adopt(settings.finalize, names[1])
            handle_as_mpi4py(self.mpi, settings.errors)
            return self._provided

        def init() -> None:
            adopt(mpi.THREAD_SINGLE)

        def init_thread(required: int = mpi.THREAD_MULTIPLE) -> int:
            return adopt(required)

        mpi.Init = init
        mpi.Init_thread = init_thread
        mpi.Is_initialized = is_open
        mpi.Query_thread = lambda: thread_level() if is_open() else real["Query_thread"]()


def _level(mpi: "Any", name: str) -> int:
    level: int = getattr(mpi, "THREAD_" + name.upper())
    return level


def _order(mpi: "Any", level: int) -> int:
    return [getattr(mpi, "THREAD_" + name.upper()) for name in THREAD_LEVELS].index(level)
