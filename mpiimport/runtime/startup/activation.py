"""From a command line and an environment to a program that imports from the store, or runs as plain Python."""

import sys

from ...rank_variables import speaks_for_job
from .. import os
from ..clock import NAMED, STARTED
from ..file_systems import IMAGE
from ..importing.path_hook import ask_before_importlib
from ..importing.site_answers import Answers
from ..messages import say
from ..mpi.abrupt_ends import before_abrupt_ends
from ..mpi.launcher import Launch, is_on_one_node, is_rank_process, launch
from ..option_table import NEVER
from ..options import Options, is_validating, makes_snapshot
from ..program import Program
from ..report.job_notes import notes
from ..report.outcome import CACHED, PLAIN, SERVED, Outcome
from .closed_streams import ClosedStreamsReserved
from .decision import IMAGE_ON, LOCALLY, NO_RANK, NOT_PREPARED, STARTS_WORKERS, mode, why_nothing_is_cached
from .exit_handlers import ExitHandlers
from .invocation import Invocation
from .other_start import as_started, become, wants_snapshot

# What our programs tell each other on the way to a rank, which the program need not know.
HANDED_OVER = (
    *(NAMED, STARTED, IMAGE_ON, IMAGE),
    *("_MPIIMPORT_APPLIED", "_MPIIMPORT_STORES_VALIDATED", "_MPIIMPORT_PLAN", "MPIIMPORT_PROFILE"),
)
# Set by python-mpi where a snapshot was prepared, to the name of the Python that it starts otherwise. Other ranks may
# have started from it then, and wait for nobody.
PYTHON = "_MPIIMPORT_PYTHON"
# Set by python-mpi: what PYTHONPATH is for a process that is no rank. What that starts comes by it to us, too.
PYTHONPATH = "_MPIIMPORT_PATH"
NO_LAUNCHER = "no launcher that mpiimport knows has started this python; see MPIIMPORT_RANK_VARIABLES"
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..mpi.ownership import Ownership
    from ..report.measured import Report
    from .service import Service


def activate(
    options: Options, program: Program, answers: Answers, before_site: bool, explicit: bool
) -> "Service | None":
    """Start the service where this process is a rank of a job that asked for it; return it if MPI was loaded.

    ``explicit``: the command line names mpiimport, so that being asked needs no further evidence. Never raises;
    where the service does not start, root says why in one line. Does not return if it is only to fill a cached store.
    """
    here = launch(options.rank_variables)
    if not explicit and options.switch != "0":
        started = as_started(options, program)
        if wants_snapshot(options, started):
            if options.fill:
                from .workers import runs

                if runs(started, options.snapshots):
                    return None
            become(started)
    invocation = Invocation(options, program, answers, before_site, os.environ.pop(PYTHON, ""), not explicit)
    if options.fill and options.switch != "0":
        _fill(here, invocation)
    # Whatever starts a snapshot later compares its files anew, and finds it in the library.
    os.environ.pop("_MPIIMPORT_VALIDATED", None)
    os.environ.pop("_MPIIMPORT_SENT", None)
    if PYTHONPATH in os.environ:
        os.environ["PYTHONPATH"] = os.environ.pop(PYTHONPATH)
    notes.begin(here is None, here is None or here.rank == 0)
    if here is None and options.cache == NEVER:
        notes.tell(Outcome(PLAIN, NO_LAUNCHER))
    at_exit = ExitHandlers()
    found, reason = mode(here, options, program, explicit, bool(invocation.python))
    if found == CACHED:
        _start_from_cache(here, invocation, at_exit)
        return None
    if found == PLAIN or here is None:
        _stay_plain(here, invocation, at_exit, reason)
        return None
    # What a rank starts must neither start MPI nor wait for us.
    os.environ["MPIIMPORT"] = "0"
    try:
        return _activate_rank(here, invocation, at_exit, reason)
    finally:
        for name in HANDED_OVER:
            os.environ.pop(name, None)


def _stay_plain(here: Launch | None, invocation: Invocation, at_exit: ExitHandlers, reason: str) -> None:
    """Leave the imports to Python; where they are to be baked, root records them."""
    options = invocation.options
    if options.switch != "0" and options.record and (here is None or here.rank == 0):
        from ..payload.baking import record_to_bake

        at_exit.add(record_to_bake(invocation.program, options, invocation.answers, invocation.before_site).finish)
    if reason not in ("", LOCALLY, NO_RANK):
        report = _new_report(here, invocation, at_exit) if reason == STARTS_WORKERS else None
        _say(here.rank if here is not None else 0, reason, report)
    elif reason and (not invocation.unchanged or (here is not None and is_rank_process(here))):
        report = _new_report(here, invocation, at_exit)
        if report is not None:
            report.bypass(reason)


def _activate_rank(here: Launch, invocation: Invocation, at_exit: ExitHandlers, reason: str) -> "Service | None":
    """Serve a rank, unless there is a reason why not."""
    options = invocation.options
    report = _new_report(here, invocation, at_exit)
    if reason == NOT_PREPARED:
        # The starter has said why. Other ranks may have started from it.
        if report is not None:
            report.bypass(reason)
        return None
    if reason:
        _say(here.rank, reason, report)
        return None
    try:
        # Most of the rank path, which a plain process does without.
        from .agreement import Bypassed
        from .mpi_start import load_mpi
        from .service import Service
    except Exception as exc:
        _say(here.rank, f"mpiimport does not load ({exc!r}); is its installation complete?", report)
        return None
    try:
        with ClosedStreamsReserved():
            ownership = load_mpi(invocation.before_site, options)
    except Bypassed as exc:
        _say(here.rank, str(exc), report)
        return None
    service = Service(ownership, invocation, report)
    try:
        with ClosedStreamsReserved():
            service.start()
    except Bypassed as exc:
        _say(here.rank, str(exc), report)
        if service.recording is not None:
            at_exit.add(service.recording.finish)
    except Exception as exc:
        # There is nothing outside the phases that could fail but MPI itself.
        _say(0, f"rank {here.rank}: {exc!r}", report)
    if service.serves:
        notes.tell(Outcome(SERVED, ranks=here.size))
    _arrange_exit(here.rank, service, ownership, at_exit)
    return service


def _fill(here: Launch | None, invocation: Invocation) -> None:
    """Fill the cached store of this node, or of all nodes of the job, prepare its snapshot, or look at them.

    Ends this process, and returns only where the program runs beside.
    """
    if is_validating():
        from .validating import validate_now

        validate_now(invocation)
    if makes_snapshot():
        from .preparing import prepare_now

        prepare_now(invocation)
        invocation.options.fill = False
        return
    reason = why_nothing_is_cached(invocation.options)
    if reason:
        refuse_to_fill(reason)
    if here is None or is_on_one_node(here):
        from .cache_filling import fill_now

        fill_now(invocation)
    else:
        from .publishing import publish_now

        publish_now(here, invocation)


def refuse_to_fill(reason: str) -> None:
    """End this process, which was to fill a cached store and not to run the program. Does not return."""
    if speaks_for_job(os.environ):
        say(f"mpiimport: no store is kept: {reason}")
    os._exit(1)


def _start_from_cache(here: Launch | None, invocation: Invocation, at_exit: ExitHandlers) -> None:
    from .cached_store import import_from_cache

    report = _new_report(here, invocation, at_exit)
    with ClosedStreamsReserved():
        import_from_cache(invocation, here, report)


def _new_report(here: Launch | None, invocation: Invocation, at_exit: ExitHandlers) -> "Report | None":
    """Begin what is measured of this process, where that is asked for. At its exit at the latest it is written."""
    options = invocation.options
    if not options.report and not options.verbose:
        return None
    from ..report.measured import Report

    rank, size = (here.rank, here.size) if here is not None else (0, None)
    report = Report(options, invocation.program, rank, size)
    at_exit.add(report.finish)
    return report


def _arrange_exit(rank: int, service: "Service", ownership: "Ownership", at_exit: ExitHandlers) -> None:
    """See to the end of the process. Registered before user code, so run after all of its own exit handlers."""
    from ..mpi.handover import find, hand_over_by_any_loader
    from .agreement import alone

    def end_at_once(becomes: bool) -> None:
        service.leave()
        ownership.finish_at_once(becomes)

    at_exit.add(ownership.finish)
    at_exit.add(service.wait_for_failures)
    at_exit.add(service.leave)
    at_exit.add(service.gather)
    at_exit.add(service.write_out)
    at_exit.add(ownership.begin_exit)
    alone(rank, at_exit.keep)
    alone(rank, service.left_open.begin)
    alone(rank, before_abrupt_ends, end_at_once)
    alone(rank, hand_over_by_any_loader, ownership)
    if not service.serves:
        alone(rank, ask_before_importlib, lambda path, details: find(ownership, path, details))


def abort_at_exit(service: "Service | None", exc: BaseException) -> None:
    """Let ``exc``, which no one has caught, end the whole job at the end of this process."""
    if service is not None:
        service.ownership.abort_at_exit(130 if isinstance(exc, KeyboardInterrupt) else 1)


def abort_on_uncaught(service: "Service | None") -> None:
    """Let an exception that the interpreter prints end the whole job, where its frames are all the program's."""
    if service is None:
        return
    show = sys.excepthook

    def show_and_abort(kind, value, traceback):  # type: ignore[no-untyped-def]
        show(kind, value, traceback)
        # Programs call the hook to print what they have caught, too; the interpreter notes what nothing caught.
        if value is getattr(sys, "last_value", None) and isinstance(value, BaseException):
            abort_at_exit(service, value)

    sys.excepthook = show_and_abort


def _say(rank: int, reason: str, report: "Report | None" = None) -> None:
    notes.tell(Outcome(PLAIN, reason), said=True)
    if report is not None:
        report.bypass(reason)
    if rank == 0:
        say(f"mpiimport: running as plain Python: {reason}")
