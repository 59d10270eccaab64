"""The recording of a process for `mpiimport bake`: no MPI, no store."""

from .. import os
from .learned_manifest import file_name, tree_identity
from .learning import Learning
from .payload import resolve
from .recording import Recording
from .rehearsal import Rehearsal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..importing.site_answers import Answers
    from ..options import Options
    from ..program import Program


def record_to_bake(program: "Program", options: "Options", answers: "Answers", before_site: bool) -> Recording:
    """Begin to record all that a learned manifest holds. ``before_site``: ``site`` has still to run."""
    name = file_name(program)
    path = os.path.join(os.path.abspath(options.record), name) if name else ""
    with Rehearsal(answers, before_site) as site:
        learning = Learning(program, tree_identity(), path, [])
        learning.reached(resolve(program, options, set(), learning.known, site=site))
    return Recording(lambda names: learning.finish({}, dict.fromkeys(names, 1)))
