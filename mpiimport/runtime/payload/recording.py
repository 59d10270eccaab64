"""Recording what one process imports while it runs as plain Python."""

import sys
from _frozen_importlib import ModuleSpec

from .. import os
from ..importing.account import spec_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Recording:
    """One recording, from before user code runs to the exit of the process."""

    def __init__(self, save: "Callable[[set[str]], object]") -> None:
        """``save``: is given the names of the modules that were imported from files."""
        self._pid = os.getpid()
        self._save = save

    def finish(self) -> None:
        """Save what was imported. A forked child does not count. Never raises."""
        if os.getpid() != self._pid:
            return
        try:
            names = {name for name, module in list(sys.modules.items()) if isinstance(name, str) and _is_file(module)}
            self._save(names - {"__main__"})
        except Exception:
            # A run that cannot be noted is no worse.
            pass


def _is_file(module: object) -> bool:
    spec = spec_of(module)
    # The program may have left anything in sys.modules. Of its own kinds of specs nothing is asked.
    return type(spec) is ModuleSpec and spec.has_location and not str(spec.name).startswith("mpiimport.")
