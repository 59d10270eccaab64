"""``python -m mpiimport``, also installed as ``python-mpi``. Must parse on any Python."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mpiimport.runtime.startup.command import Execution  # noqa: F401


def main():  # type: () -> None
    """Run the program that the words of ``python-mpi`` name."""
    _leave_search_path()
    with _prepare(sys.orig_argv[: -len(sys.argv)], True) as execution:
        execution.begin()()


def _prepare(interpreter, by_file):  # type: (list[str], bool) -> Execution
    """Activate. ``interpreter``: what plain Python would have in front of the program; ``by_file``: see Execution."""
    from mpiimport.runtime import own_files

    own_files.hide()
    from mpiimport.runtime.clock import phases

    phases.begin_life()
    from mpiimport.runtime.startup.command import prepare_command

    return prepare_command(interpreter, sys.argv[1:], False, lambda: None, by_file)


def _leave_search_path():  # type: () -> None
    """Take from ``sys.path`` what Python put there for us."""
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]


def _is_somewhere():  # type: () -> bool
    """Tell whether there is a current directory, which ``-m`` makes Python search."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _less_module(words):  # type: (list[str]) -> list[str]
    """Take ``-m mpiimport`` from the end of a command line; the ``m`` may follow other letters, the name the ``m``."""
    rest = words[:-1]
    letters = words[-1] if words[-1].startswith("-") else rest.pop()
    before = letters[: letters.index("m")]
    return rest if before == "-" else rest + [before]  # noqa: RUF005


def _become_plain(reason):  # type: (str) -> None
    """Become the same interpreter without us, which knows none of our options."""
    with open("/proc/self/cmdline", "rb") as stream:
        words = [word.decode("latin-1") for word in stream.read().split(b"\0")[:-1]]
    first = len(words) - len(sys.argv) + 1
    program = words[first:]
    if program and program[0].startswith("-") and program[0][:2] not in ("-", "-m", "-c"):
        sys.exit("mpiimport: %s; leave out -m mpiimport and its options" % reason)
    say_plain(reason)
    os.execv(sys.executable, [word.encode("latin-1") for word in _less_module(words[:first]) + program])


if __name__ == "__main__":
    from mpiimport.served_pythons import say_plain, why_not

    if why_not():
        _become_plain(why_not())
    # Loaded by -m alone; plain Python would not have it.
    sys.modules.pop("runpy", None)
    if _is_somewhere():
        _leave_search_path()
    # Not by a function, whose frame would lie below the program's.
    with _prepare(_less_module(sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]), False) as execution:
        execution.begin()()
