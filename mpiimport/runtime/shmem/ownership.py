"""OpenSHMEM started by us, and what the program's own use of it then sees.

Its ``shmem_init`` finds OpenSHMEM started, which changes nothing. Its ``shmem_finalize``, or that of shmem4py after the
interpreter, ends it; where it does neither, we do. MPI is left alone: where one library offers both, it is started.
"""

import sys

from .. import os
from ..c_functions import bind, call_interpreter
from ..mpi.exit_of_program import take_handlers
from ..mpi.openshmem import is_open
from ..mpi.ownership import Ownership
from .calls import Library, NoShmem
from .transport import ShmemTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


# Where shmem4py has its functions of C.
USER = "shmem4py.api"


class ShmemOwnership(Ownership):
    """The OpenSHMEM that this process has started. ``library``: to call it."""

    def __init__(self) -> None:
        """Load the library. Raises NoShmem."""
        self._pid = os.getpid()
        self._aborting = False
        self._status = 0
        self.given = None
        self.adopted = self.of_the_tree = False
        self.library = Library()

    def supports(self) -> None:
        """All versions."""

    def start(self, level: str, is_guess: bool) -> None:
        """Start OpenSHMEM, as shmem4py does unless it is asked for threads. Raises NoShmem."""
        if is_open():
            raise NoShmem("OpenSHMEM is already initialised in this process")
        self.library.call("init")

    def transport(self) -> ShmemTransport:
        return ShmemTransport.over_all(self.library)

    def active(self) -> bool:
        return os.getpid() == self._pid and is_open()

    def end_startup(self) -> None:
        pass

    def will_finalize(self) -> bool:
        return self.active() and not self._aborting

    def begin_exit(self) -> None:
        if self.active():
            take_handlers(waits_plainly=_is_in_use())

    def finish(self) -> None:
        if self.aborts():
            # Its end would wait for all.
            self.library.call("global_exit", self._status)
        elif self.will_finalize() and not _is_in_use():
            # shmem4py comes after the interpreter, too, and frees memory before.
            call_interpreter("Py_AtExit", "P", self.library.finalize)

    def finish_at_once(self, becomes: bool) -> None:
        """Before ``os._exit`` or ``exec``, finalise where user code never touched OpenSHMEM."""
        if self.active() and not _is_in_use():
            bind(self.library.finalize, "", "")()

    def abort_at_exit(self, status: int) -> None:
        if self.active():
            self._aborting, self._status = True, status

    def end_without_abort(self) -> None:
        self._aborting = False


def _is_in_use() -> bool:
    """Tell whether the program has started OpenSHMEM by shmem4py, which is to end it."""
    functions = getattr(sys.modules.get(USER), "lib", None)
    return bool(getattr(functions, "_shmem_initialized", False))
