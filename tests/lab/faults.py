"""A start-up in which one rank fails in one phase."""

from pathlib import Path

FAULTS = {
    "exception": "raise OSError('injected')",
    "exit": "os._exit(3)",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "late": "time.sleep(20)",
    "never": "time.sleep(1000)",
}
DRIVER = """
import os, signal, sys, time
sys.path[0] = {package!r}
from mpiimport.runtime import placement, service, store
from mpiimport.runtime.launcher import launch
rank = launch().rank
owners = [service.Service, placement.Placement, store.Store]
owner = next(owner for owner in owners if hasattr(owner, {phase!r}))
original = owner.{phase}
join = store.Store.join
def faulty(*arguments):
    if rank == {rank}:
        {fault}
    return original(*arguments)
owner.{phase} = faulty
store.Store.join = lambda directory, slot: None if rank == {apart} else join(directory, slot)
from mpiimport.runtime.command import prepare_command
with prepare_command([sys.executable], sys.argv[1:], False, lambda: None) as execution:
    execution.begin()()
"""


def driver_text(prefix: Path, phase: str, rank: int, fault: str, apart: int = -1) -> str:
    """Return a program that runs the one named on its command line served, with a fault of FAULTS on one rank.

    ``phase``: a method of Service or Placement, or "write", which is called for each part that goes into a store;
    ``apart``: a rank that is made to lead a store of its own, as on another node.
    """
    package = str(prefix / "lib")
    return DRIVER.format(package=package, phase=phase, rank=rank, fault=FAULTS[fault], apart=apart)
