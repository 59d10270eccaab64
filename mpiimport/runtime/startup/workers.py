"""Workers that a program starts by itself, where `mpiimport prepare` has begun it: the program runs, and of each worker
a snapshot is made beside."""

import sys

from .. import os
from ..c_functions import LOCK_EX, flock
from ..messages import say
from ..options import FILL_RUNNING, FILL_SNAPSHOT, FILL_WORKER
from ..program import COMMAND, INPUT
from .other_start import name_in_library, words_of_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..program import Program

# Programs that start a script as often as they are asked to, by their files or modules. Its processes need not run.
LAUNCHERS = (
    *("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed"),
    *("deepspeed.launcher.runner", "deepspeed.launcher.launch"),
)
# Where a library has, while it is prepared, a file for each program: what its maker says, which has it locked.
SEEN = "seen"
NO_WORKER = "only a script has a snapshot, and a module (-m), with -u or no option of Python; it starts plainly"


def runs(program: "Program") -> bool:
    """Tell whether a program runs, and has no snapshot made: a launcher of workers; a worker that can have none."""
    filling = os.environ["MPIIMPORT_FILL"]
    is_file = program.kind not in (COMMAND, INPUT)
    if filling in (FILL_SNAPSHOT, FILL_WORKER) and is_file and name_in_library(program) in LAUNCHERS:
        os.environ["MPIIMPORT_FILL"] = FILL_WORKER
        return True
    if filling not in (FILL_WORKER, FILL_RUNNING) or words_of_program(program):
        return False
    say(f"mpiimport: nothing is prepared of {' '.join(sys.orig_argv)}: {NO_WORKER}")
    return True


def make_beside(library: str, key: str, command: "list[str]", environment: "dict[str, str]") -> None:
    """Have a process that is no child of this one make the snapshot, unless another worker has done so. Raises OSError.

    It has no descriptor of this process: somebody may wait for their end.
    """
    place = os.path.join(library, SEEN)
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        seen = os.open(os.path.join(place, key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    flock(seen, LOCK_EX)
    child = os.fork()
    if child:
        os.close(seen)
        os.waitpid(child, 0)
        return
    try:
        if not os.fork():
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(seen, 1)
            os.dup2(seen, 2)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.execve(command[0], command, environment)
    finally:
        os._exit(1)
