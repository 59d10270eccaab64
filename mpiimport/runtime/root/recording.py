"""Recording what one process imports, for `mpiimport bake`: no MPI, no store."""

import os
import sys

from ..account import spec_of
from .learned import file_name, tree_identity
from .learning import Learning
from .snapshot import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program


class Recording:
    """One recording, from before user code runs to the exit of the process."""

    def __init__(self, program: "Program", options: "Options") -> None:
        self._pid = os.getpid()
        name = file_name(program)
        self._learning = Learning(
            program, tree_identity(), os.path.join(os.path.abspath(options.record), name) if name else "", []
        )
        self._learning.reached(resolve(program, options, set(), self._learning.known))

    def finish(self) -> None:
        """Write the manifest. A forked child is left out."""
        if os.getpid() != self._pid:
            return
        names = {name for name, module in list(sys.modules.items()) if isinstance(name, str) and _is_file(module)}
        self._learning.finish({}, dict.fromkeys(names - {"__main__"}, 1))


def _is_file(module: object) -> bool:
    spec = spec_of(module)
    return spec is not None and spec.has_location and not spec.name.startswith("mpiimport.")
