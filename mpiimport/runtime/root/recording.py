"""Recording what one process imports, for `mpiimport bake`: no MPI, no store."""

import sys

from .. import os
from ..serving.account import spec_of
from .learned_manifest import file_name, tree_identity
from .learning import Learning
from .rehearsal import Rehearsal
from .snapshot import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Options
    from ..program import Program
    from ..serving.site_answers import Answers


class Recording:
    """One recording, from before user code runs to the exit of the process."""

    def __init__(self, program: "Program", options: "Options", answers: "Answers", before_site: bool) -> None:
        """``before_site``: ``site`` has still to run."""
        self._pid = os.getpid()
        name = file_name(program)
        path = os.path.join(os.path.abspath(options.record), name) if name else ""
        with Rehearsal(answers, before_site) as site:
            self._learning = Learning(program, tree_identity(), path, [])
            self._learning.reached(resolve(program, options, set(), self._learning.known, site=site))

    def finish(self) -> None:
        """Write the manifest. A forked child is left out."""
        if os.getpid() != self._pid:
            return
        names = {name for name, module in list(sys.modules.items()) if isinstance(name, str) and _is_file(module)}
        self._learning.finish({}, dict.fromkeys(names - {"__main__"}, 1))


def _is_file(module: object) -> bool:
    spec = spec_of(module)
    return spec is not None and spec.has_location and not spec.name.startswith("mpiimport.")
