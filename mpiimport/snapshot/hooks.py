"""What programs and modules say about their own snapshot.

Nothing of this does anything in a process that is not made into a snapshot and starts from none.
"""

# What starts MPI when it is imported is in no snapshot.
NEVER = "mpi4py"
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[[], Any])

# Functions, in the order in which they were given.
_before: "list[Callable[[], Any]]" = []
_after: "list[Callable[[], Any]]" = []
# Of a module: what its functions make new. (module, name)
_renewed: "set[tuple[str, str]]" = set()


def register_before_snapshot(function: "Function") -> "Function":
    """Have a function called before an image is made, those given last first: to close files, or end threads.

    It is called in no other process. If it raises an exception, there is no image. Return the function.
    """
    _before.append(function)
    return function


def register_after_restore(function: "Function", renews: "Iterable[str]" = ()) -> "Function":
    """Have a function called in each process that starts from the image, before the program goes on.

    Those given first are called first. It is called in no other process: plainly, what the module did when it was
    imported is right. If it raises an exception, the program starts plainly. Return the function.

    ``renews``: names in the function's module that it sets to what belongs to this process. What the module has asked
    the system for when it was imported, the function must ask for again, or the module is in no snapshot.
    """
    _after.append(function)
    _renewed.update((function.__module__, name) for name in renews)
    return function


def here() -> None:
    """Say that an image may hold what the program has done until here: a statement of the script, in no block.

    It returns at once, whether or not the process has started from an image.
    """
