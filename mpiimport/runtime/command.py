"""The command line ``[-v] [-d] [-I PROFILE] [-T DIR] [--report FILE] program``, as every door runs it."""

import builtins
import os
import sys
from _frozen_importlib import BuiltinImporter

from . import restore_lazy_imports
from .activation import abort_on_uncaught, activate
from .answers import Answers
from .clock import MAIN, SITE, phases
from .options import OptionError, from_environment, split_flags
from .program import NoProgram, Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from .service import Service

USAGE_STATUS = 2


def run_command(interpreter: list[str], words: list[str], before_site: bool, activated: "Callable[[], None]") -> None:
    """Activate and run the program that ``words`` name.

    ``interpreter``: the part of the command line that plain Python would have in front of the program.
    ``before_site``: this is the early start, and ``site.main()`` is run once activation is over, after ``activated``
    is called.
    Raises SystemExit: for the program's own, with status 1 after an exception that nothing caught, and with
    status 2 for a command line that cannot be understood.
    """
    try:
        flags, rest = split_flags(words)
        if "profile" in flags:
            from .profile import apply_profile

            apply_profile(flags["profile"])
        options = from_environment(flags)
        program = Program.parse(rest)
    except (OptionError, NoProgram) as exc:
        print(f"mpiimport: {exc}", file=sys.stderr)
        raise SystemExit(USAGE_STATUS) from None
    sys.orig_argv = interpreter + rest
    answers = Answers()
    service = activate(options, program, answers, before_site, explicit=True)
    activated()
    restore_lazy_imports()
    if before_site:
        phases.begin(SITE)
        _run_site(answers)
    phases.begin(MAIN)
    _run(program, service)


def activate_interpreter() -> None:
    """Activate for the program that the running interpreter is about to run itself. Never raises."""
    try:
        options = from_environment()
        program = Program.of_interpreter()
        abort_on_uncaught(activate(options, program, Answers(), before_site=False, explicit=False))
    except NoProgram:
        return
    except OptionError as exc:
        print(f"mpiimport: running as plain Python: {exc}", file=sys.stderr)
    finally:
        restore_lazy_imports()
        phases.begin(MAIN)


def _run_site(answers: Answers) -> None:
    """Run ``site``. What its user code lets escape, such as SystemExit, ends Python before the program starts."""
    try:
        answers.run_site()
    except BaseException as exc:
        print(
            "Fatal Python error: init_import_site: Failed to import the site module\nPython runtime state: initialized",
            file=sys.stderr,
        )
        _show(exc)
        raise SystemExit(1) from None


def _run(program: Program, service: "Service | None") -> None:
    namespace = sys.modules["__main__"].__dict__
    namespace.clear()
    namespace.update(
        __name__="__main__",
        __doc__=None,
        __package__=None,
        __loader__=BuiltinImporter,
        __spec__=None,
        __builtins__=builtins,
    )
    if sys.version_info < (3, 14):
        namespace["__annotations__"] = {}
    abort_on_uncaught(service)
    try:
        program.run()
    except SystemExit:
        raise
    except BaseException as exc:
        _show(exc)
        program.forget_file()
        raise SystemExit(130 if isinstance(exc, KeyboardInterrupt) else 1) from None
    program.forget_file()


def _show(exc: BaseException) -> None:
    """Print what the interpreter prints of an uncaught exception: the program's own frames."""
    here = os.path.dirname(__file__)
    traceback: TracebackType | None = exc.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(here):
        traceback = traceback.tb_next
    exc.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(exc), exc, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = exc
    sys.stdout.flush()
    sys.excepthook(type(exc), exc, traceback)
