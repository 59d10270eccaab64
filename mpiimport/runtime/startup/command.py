"""The command line ``[-v] [-d] [-I PROFILE] [-T DIR] [--report FILE] program``, as every entry point runs it."""

import builtins
import sys
from _frozen_importlib import BuiltinImporter
from sys import __excepthook__ as print_exception

from ...rank_variables import speaks_for_job
from .. import PACKAGE_DIRECTORY, os, restore_lazy_imports
from ..clock import MAIN, SITE, phases
from ..configuration import agree_with_program
from ..importing.site_answers import Answers
from ..messages import say, say_as_interpreter
from ..mpi.launcher import OF_RANK, launch
from ..options import (
    OptionError,
    VariableError,
    from_environment,
    is_filling,
    split_flags,
    switched_off,
    unknown_variables,
)
from ..own_files import OURS
from ..program import NoProgram, Program
from ..report.job_notes import notes
from ..report.outcome import PLAIN, Outcome
from ..standard_streams import flush, leave_unflushed
from .activation import abort_at_exit, abort_on_uncaught, activate, refuse_to_fill
from .other_start import has_snapshots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from .service import Service

USAGE_STATUS = 2
# In the place of what a program has deleted.
MISSING = object()


class Execution:
    """A program that runs in ``__main__`` while this context lasts, which sees to how it ends.

        with execution:
            execution.begin()()

    The call is the caller's, so that hardly any of our frames lies below the program's. That is more than looks: Python
    3.11 and newer keep frames in pieces of 16 KiB, and where the calls of a program go to and fro over the end of a
    piece, each costs two system calls; our frames would move that end.
    """

    def __init__(self, program: Program, service: "Service | None", by_file: bool) -> None:
        """``by_file``: our own code, which calls the program, came to the interpreter by a file."""
        self._program = program
        self._service = service
        self._by_file = by_file

    def __enter__(self) -> "Execution":
        return self

    def begin(self) -> "Callable[[], object]":
        """Return what runs the program in ``__main__``."""
        agree_with_program(self._program.words(), self._program.search_entry())
        return self._program.prepare()

    def __exit__(self, kind: object, exc: BaseException | None, traceback: "Any") -> None:
        """Have the interpreter print an exception that nothing has caught, less our frames, and end as it would."""
        if exc is None:
            self._program.forget_file()
        elif not isinstance(exc, SystemExit) or sys.flags.inspect:
            # The frame of the caller is ours, too.
            sys.excepthook = Uncaught(self._program, self._service, _less_ours(traceback.tb_next))
        if self._by_file and not self._program.is_file():
            leave_unflushed()
        elif self._program.is_file() and not self._by_file:
            flush()


class Uncaught:
    """The ``sys.excepthook`` that the interpreter calls with an uncaught exception once it has left our frames.

    The program's own is back in its place then. It is called with a traceback that begins with the program.
    """

    def __init__(self, program: Program, service: "Service | None", traceback: "TracebackType | None") -> None:
        self._program = program
        self._service = service
        self._traceback = traceback
        self._hook = sys.__dict__.get("excepthook", MISSING)

    def __call__(self, kind: "type[BaseException]", exc: BaseException, traceback: "TracebackType | None") -> None:
        """Raises what the program's hook raises to end the process, SystemExit."""
        hook, self._hook = self._hook, None
        own, self._traceback = self._traceback, None
        if hook is MISSING:
            del sys.excepthook
        else:
            sys.excepthook = hook
        exc.__traceback__ = sys.last_traceback = own
        try:
            if sys.version_info >= (3, 14):
                self._program.forget_file()
            _call(hook, kind, exc, own)
        finally:
            self._program.forget_file()
        if not isinstance(exc, SystemExit):
            abort_at_exit(self._service, exc)


def prepare_command(
    interpreter: list[str], words: list[str], before_site: bool, activated: "Callable[[], None]", by_file: bool
) -> Execution:
    """Activate for the program that ``words`` name.

    ``interpreter``: the part of the command line that plain Python would have in front of the program.
    ``before_site``: this is the early start, and ``site.main()`` is run once activation is over, after ``activated``
    is called. ``by_file``: see ``Execution``.
    Raises SystemExit: with status 2 for a command line that cannot be understood.
    """
    try:
        flags, rest = split_flags(words)
        program = Program.parse(rest)
        if "profile" in flags:
            from .rank_profile import apply_profile

            apply_profile(flags["profile"])
        options = from_environment(flags)
    except VariableError as exc:
        _say_on_root(exc)
        options = switched_off()
    except (OptionError, NoProgram) as exc:
        say(f"mpiimport: {exc}")
        raise SystemExit(USAGE_STATUS) from None
    if not program.is_readable():
        os.execv(sys.executable, interpreter + rest)
    sys.orig_argv = interpreter + rest
    sys.argv = program.words()
    _replace_main()
    _name_unknown_variables()
    answers = Answers()
    service = activate(options, program, answers, before_site, explicit=True)
    activated()
    restore_lazy_imports()
    if before_site:
        phases.begin(SITE)
        _run_site(answers)
    phases.begin(MAIN)
    return Execution(program, service, by_file)


def _replace_main() -> None:
    """Give the program a ``__main__`` of its own, as Python makes it: none of our objects is to refer to its namespace.

    Files that are left open are written, and objects deleted, when nothing holds them any more.
    """
    main = type(sys)("__main__")
    namespace = main.__dict__
    namespace["__loader__"] = BuiltinImporter
    if sys.version_info < (3, 14):
        namespace["__annotations__"] = {}
    namespace["__builtins__"] = builtins
    sys.modules["__main__"] = main


def activate_interpreter() -> bool:
    """Activate for the program that the running interpreter is about to run itself. Never raises.

    Return whether Pythons that this one starts may start from snapshots: not where imports are served to it by MPI.
    """
    try:
        options = from_environment()
        program = Program.of_interpreter()
        if program.is_module("mpiimport"):
            # That activates for the program behind it.
            return False
        _name_unknown_variables()
        service = activate(options, program, Answers(), before_site=False, explicit=False)
        abort_on_uncaught(service)
        if not has_snapshots(options) or (service is not None and service.serves):
            return False
        if launch(options.rank_variables) is not None:
            os.environ.update({"MPIIMPORT": options.switch, OF_RANK: "1"})
        return True
    except NoProgram:
        return False
    except VariableError as exc:
        _say_on_root(exc)
        return False
    finally:
        restore_lazy_imports()
        phases.begin(MAIN)


def _say_on_root(reason: VariableError) -> None:
    """Say, where this process is root or no rank, why it runs plainly. What it starts is not to say it again."""
    if is_filling():
        refuse_to_fill(str(reason))
    os.environ["MPIIMPORT"] = "0"
    speaks = speaks_for_job(os.environ)
    notes.begin(False, speaks)
    notes.tell(Outcome(PLAIN, str(reason)), said=True)
    if speaks:
        say(f"mpiimport: running as plain Python: {reason}")


def _name_unknown_variables() -> None:
    """Name, where this process is root or no rank, each variable that looks like an option and is none."""
    unknown = unknown_variables()
    if not unknown or os.environ.get("MPIIMPORT") == "0" or not speaks_for_job(os.environ):
        return
    from ..option_table import OPTIONS, VARIABLE_PREFIX
    from ..spelling import nearest

    names = [option.name.upper() for option in OPTIONS]
    for variable in unknown:
        meant = nearest(variable.removeprefix(VARIABLE_PREFIX), names)
        hint = f"; did you mean {VARIABLE_PREFIX}{meant}?" if meant else ""
        say(f"mpiimport: {variable} is no option, and changes nothing{hint}")


def _run_site(answers: Answers) -> None:
    """Run ``site``. What its user code lets escape, such as SystemExit, ends Python before the program starts."""
    try:
        answers.run_site()
    except BaseException as exc:
        say("Fatal Python error: init_import_site: Failed to import the site module\nPython runtime state: initialized")
        exc.__traceback__ = _less_ours(exc.__traceback__)
        print_exception(type(exc), exc, exc.__traceback__)
        raise SystemExit(1) from None


def _less_ours(traceback: "TracebackType | None") -> "TracebackType | None":
    """Return a traceback less our frames, which it begins with."""
    ours = os.path.join(PACKAGE_DIRECTORY, ""), OURS
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(ours):
        traceback = traceback.tb_next
    return traceback


def _call(hook: "Any", kind: "type[BaseException]", exc: BaseException, traceback: "TracebackType | None") -> None:
    """Call the program's ``sys.excepthook``; say what the interpreter says where there is none, or it fails."""
    failure: BaseException | None = None
    if hook is MISSING:
        say_as_interpreter("sys.excepthook is missing")
    else:
        try:
            hook(kind, exc, traceback)
            return
        except BaseException as raised:
            if isinstance(raised, SystemExit) and not sys.flags.inspect:
                raise
            failure = raised
    if failure is not None:
        failure.__traceback__ = failure.__traceback__.tb_next if failure.__traceback__ else None
        say_as_interpreter("Error in sys.excepthook:")
        print_exception(type(failure), failure, failure.__traceback__)
        say_as_interpreter("\nOriginal exception was:")
    print_exception(kind, exc, traceback)
