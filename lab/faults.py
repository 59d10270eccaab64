"""A start-up in which one rank fails in one piece of its work."""

from pathlib import Path

FAULTS = {
    "exception": "raise OSError('injected')",
    "exit": "os._exit(3)",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    # Longer than ranks ever wait for each other, but for the deadline of the start-up.
    "late": "time.sleep(8)",
    "very late": "time.sleep(20)",
    "never": "time.sleep(1000)",
}
DRIVER = """
import os, signal, sys, time
sys.path[0] = {package!r}
from mpiimport.runtime.mpi import ownership
from mpiimport.runtime.importing import imports
from mpiimport.runtime.startup import activation, service
from mpiimport.runtime.store import broadcast, store
from mpiimport.runtime.mpi.launcher import launch
rank = launch().rank
owners = [service.Service, broadcast.Cargo, store.Store, imports.Imports, ownership.Ownership, activation, service]
owner = next(owner for owner in owners if hasattr(owner, {piece!r}))
original = getattr(owner, {piece!r})
join = store.Store.join
def faulty(*arguments):
    if {after}:
        result = original(*arguments)
    if rank == {rank}:
        {fault}
    return result if {after} else original(*arguments)
setattr(owner, {piece!r}, faulty)
store.Store.join = lambda directory: None if rank == {apart} else join(directory)
from mpiimport.runtime.startup.command import prepare_command
with prepare_command([sys.executable], sys.argv[1:], False, lambda: None, True) as execution:
    execution.begin()()
"""


def driver_text(prefix: Path, piece: str, rank: int, fault: str, apart: int = -1, after: bool = False) -> str:
    """Return a program that runs the one named on its command line served, with a fault of FAULTS on one rank.

    ``piece``: a method of Service, or "write", which is called for each part that goes into a store, or a function that
    `service` or `activation` calls; ``apart``: a rank that is made to lead a store of its own, as on another node;
    ``after``: the fault comes when the piece is done.
    """
    package = str(prefix / "lib")
    return DRIVER.format(package=package, piece=piece, rank=rank, fault=FAULTS[fault], apart=apart, after=after)
