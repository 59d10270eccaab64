"""What the compiler warns of is shown as plainly: before anything of the program is executed, its filters included."""

import _warnings
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILTERS: "Any" = _warnings.filters


class CompilerWarnings:
    """While this context lasts, warnings are as they were when it was made: the interpreter itself shows them."""

    def __init__(self) -> None:
        self._first = [*FILTERS]

    def __enter__(self) -> None:
        self._now = [*FILTERS]
        FILTERS[:] = self._first
        self._module = sys.modules.pop("warnings", None)

    def __exit__(self, *failure: object) -> None:
        FILTERS[:] = self._now
        if self._module is not None:
            sys.modules["warnings"] = self._module
