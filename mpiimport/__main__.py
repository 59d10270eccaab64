"""``python -m mpiimport``, also installed as ``python-mpi``."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mpiimport.runtime.startup.command import Execution


def main() -> None:
    """Run the program that the words of ``python-mpi`` name."""
    _leave_search_path()
    with _prepare(sys.orig_argv[: -len(sys.argv)]) as execution:
        execution.begin()()


def _prepare(interpreter: list[str]) -> "Execution":
    """Activate. ``interpreter``: what plain Python would have in front of the program."""
    from mpiimport.runtime.startup.command import prepare_command

    return prepare_command(interpreter, sys.argv[1:], before_site=False, activated=lambda: None)


def _leave_search_path() -> None:
    """Take from ``sys.path`` what Python put there for us."""
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]


def _is_somewhere() -> bool:
    """Tell whether there is a current directory, which ``-m`` makes Python search."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return False
    return True


def _less_module(words: list[str]) -> list[str]:
    """Take ``-m mpiimport`` from the end of a command line; the ``m`` may follow other letters, the name the ``m``."""
    *rest, last = words
    letters = last if last.startswith("-") else rest.pop()
    before = letters[: letters.index("m")]
    return rest if before == "-" else [*rest, before]


if __name__ == "__main__":
    # Loaded by -m alone; plain Python would not have it.
    sys.modules.pop("runpy", None)
    if _is_somewhere():
        _leave_search_path()
    # Not by a function, whose frame would lie below the program's.
    with _prepare(_less_module(sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1])) as execution:
        execution.begin()()
