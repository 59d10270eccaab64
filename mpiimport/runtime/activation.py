"""From a command line and an environment to a program that imports from the store, or runs as plain Python."""

import atexit
import os
import sys

from .answers import Answers
from .decision import why_not
from .ends import before_abrupt_ends
from .finder import add_path_hook
from .launcher import is_rank_process, launch
from .options import Options
from .program import Program
from .service import Service, SteppedAside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ownership import Ownership


def activate(options: Options, program: Program, answers: Answers, before_site: bool, explicit: bool) -> Service | None:
    """Start the service where this process is a rank of a job that asked for it; return it if MPI was started.

    ``explicit``: the command line names mpiimport, so that being asked needs no further evidence. Never raises;
    where the service does not start, root says why in one line.
    """
    here = launch(options.rank_variables)
    if options.switch != "0" and options.record and (here is None or here.rank == 0):
        _record(options, program, answers, before_site)
    if options.switch == "0" or options.debug or options.record or here is None:
        return None
    if not explicit and not is_rank_process(here):
        _say(
            here.rank,
            "this python is not the process that the launcher started as the rank; python -m mpiimport asks for it",
        )
        return None
    # Children of a rank must neither start MPI nor wait for us.
    os.environ["MPIIMPORT"] = "0"
    reason = why_not(here, options)
    if reason:
        _say(here.rank, reason)
        return None
    service = Service(options, program, answers, before_site)
    try:
        service.start()
    except SteppedAside as exc:
        _say(here.rank, str(exc))
    except Exception as exc:
        # Between the phases there is nothing that could fail but MPI itself.
        _say(0, f"rank {here.rank}: {exc!r}")
    if service.ownership is None:
        return None
    _arrange_exit(service, service.ownership)
    return service


def _record(options: Options, program: Program, answers: Answers, before_site: bool) -> None:
    from .root.recording import Recording

    if before_site:
        answers.record_site()
    atexit.register(Recording(program, options).finish)


def _arrange_exit(service: Service, ownership: "Ownership") -> None:
    """See to the end of the process. Registered before user code, so run after all of its own exit handlers."""

    def end_at_once() -> None:
        service.leave()
        ownership.finish_at_once()

    before_abrupt_ends(end_at_once)
    atexit.register(ownership.finish)
    atexit.register(service.leave)
    atexit.register(service.gather)
    if service.imports is None:
        add_path_hook(ownership.path_hook)


def abort_on_uncaught(service: Service | None) -> None:
    """Let an exception that no one catches end the whole job, once its traceback is printed."""
    ownership = service.ownership if service else None
    if ownership is None:
        return
    show = sys.excepthook

    def show_and_abort(kind, value, traceback):  # type: ignore[no-untyped-def]
        show(kind, value, traceback)
        # Programs call the hook to print what they have caught, too; the interpreter notes what nothing caught.
        if value is not None and value is getattr(sys, "last_value", None):
            ownership.abort_at_exit(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = show_and_abort


def _say(rank: int, reason: str) -> None:
    if rank == 0:
        print(f"mpiimport: running as plain Python: {reason}", file=sys.stderr, flush=True)
