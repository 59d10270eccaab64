"""A guard that ends the process, and so the job, when the start-up takes too long."""

import faulthandler

from .. import os
from ..messages import DESCRIPTOR, is_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def run_before_deadline(seconds: int, work: "Callable[[], None]") -> None:
    """Run ``work``; where it takes longer than ``seconds``, say so and end the process with status 1.

    The watching thread is faulthandler's, in C: it fires even while MPI_Init holds the interpreter's lock, and
    every launcher takes a rank's ``_exit(1)`` as the end of the job.
    """
    message = (
        f"mpiimport: start-up passed its deadline of {seconds} s and some rank never took part: job ended. "
        "MPIIMPORT=0 runs it without mpiimport, MPIIMPORT_DEADLINE=SECONDS gives it longer"
    )
    # faulthandler prints stack frames and nothing else, so the message is the file name of one.
    framed = compile("work()", message, "exec")
    nowhere = None if is_open() else os.open(os.devnull, os.O_WRONLY)
    faulthandler.dump_traceback_later(seconds, exit=True, file=DESCRIPTOR if nowhere is None else nowhere)
    try:
        exec(framed, {"work": work})
    finally:
        faulthandler.cancel_dump_traceback_later()
        if nowhere is not None:
            os.close(nowhere)
