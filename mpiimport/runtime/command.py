"""The command line ``[-v] [-d] [-I PROFILE] [-T DIR] [--report FILE] program``, as every door runs it."""

import builtins
import os
import sys
from _frozen_importlib import BuiltinImporter

from . import restore_lazy_imports
from .activation import abort_on_uncaught, activate
from .answers import Answers
from .clock import MAIN, SITE, phases
from .messages import say
from .options import OptionError, from_environment, split_flags
from .program import NoProgram, Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from .service import Service

USAGE_STATUS = 2


class Execution:
    """A program that runs in ``__main__`` while this context lasts, which sees to how it ends.

        with execution:
            execution.begin()()

    The call is the caller's, so that hardly a frame of ours lies below the program's. That is more than looks: Python
    3.11 and newer keep frames in pieces of 16 KiB, and where the calls of a program go to and fro over the end of a
    piece, each costs two system calls; frames of ours would move that end.
    """

    def __init__(self, program: Program, service: "Service | None") -> None:
        self._program = program
        self._service = service

    def __enter__(self) -> "Execution":
        return self

    def begin(self) -> "Callable[[], object]":
        """Return what runs the program in ``__main__``."""
        abort_on_uncaught(self._service)
        return self._program.prepare()

    def __exit__(self, kind: object, exc: BaseException | None, traceback: "Any") -> None:
        """Raises SystemExit with status 1, or 130, after an exception that nothing caught."""
        if isinstance(exc, SystemExit):
            return
        if exc is not None:
            # The frame of the caller is ours, too.
            _show(exc, traceback.tb_next)
        self._program.forget_file()
        if exc is not None:
            raise SystemExit(130 if isinstance(exc, KeyboardInterrupt) else 1) from None


def prepare_command(
    interpreter: list[str], words: list[str], before_site: bool, activated: "Callable[[], None]"
) -> Execution:
    """Activate for the program that ``words`` name.

    ``interpreter``: the part of the command line that plain Python would have in front of the program.
    ``before_site``: this is the early start, and ``site.main()`` is run once activation is over, after ``activated``
    is called.
    Raises SystemExit: with status 2 for a command line that cannot be understood.
    """
    try:
        flags, rest = split_flags(words)
        if "profile" in flags:
            from .profile import apply_profile

            apply_profile(flags["profile"])
        options = from_environment(flags)
        program = Program.parse(rest)
    except (OptionError, NoProgram) as exc:
        say(f"mpiimport: {exc}")
        raise SystemExit(USAGE_STATUS) from None
    sys.orig_argv = interpreter + rest
    sys.argv = program.words()
    _replace_main()
    answers = Answers()
    service = activate(options, program, answers, before_site, explicit=True)
    activated()
    restore_lazy_imports()
    if before_site:
        phases.begin(SITE)
        _run_site(answers)
    phases.begin(MAIN)
    return Execution(program, service)


def _replace_main() -> None:
    """Give the program a ``__main__`` of its own, as Python makes it, so that nothing of ours refers to its namespace.

    Files that are left open are written, and objects deleted, when nothing holds them any more.
    """
    main = type(sys)("__main__")
    namespace = main.__dict__
    namespace.update(__loader__=BuiltinImporter, __builtins__=builtins)
    if sys.version_info < (3, 14):
        namespace["__annotations__"] = {}
    sys.modules["__main__"] = main


def activate_interpreter() -> None:
    """Activate for the program that the running interpreter is about to run itself. Never raises."""
    try:
        options = from_environment()
        program = Program.of_interpreter()
        abort_on_uncaught(activate(options, program, Answers(), before_site=False, explicit=False))
    except NoProgram:
        return
    except OptionError as exc:
        say(f"mpiimport: running as plain Python: {exc}")
    finally:
        restore_lazy_imports()
        phases.begin(MAIN)


def _run_site(answers: Answers) -> None:
    """Run ``site``. What its user code lets escape, such as SystemExit, ends Python before the program starts."""
    try:
        answers.run_site()
    except BaseException as exc:
        say("Fatal Python error: init_import_site: Failed to import the site module\nPython runtime state: initialized")
        _show(exc, exc.__traceback__)
        raise SystemExit(1) from None


def _show(exc: BaseException, traceback: "TracebackType | None") -> None:
    """Print what the interpreter prints of an uncaught exception: the program's own frames."""
    here = os.path.dirname(__file__)
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(here):
        traceback = traceback.tb_next
    exc.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(exc), exc, traceback
    if sys.version_info >= (3, 12):
        sys.last_exc = exc
    try:
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):
        # There is none, or it is closed.
        pass
    sys.excepthook(type(exc), exc, traceback)
