import atexit
import sys
import traceback

from . import log
from .pool import BasePool

__all__ = ["MPIPool"]

MPI = None


def _import_mpi(quiet=False):
    global MPI
    try:
        from mpi4py import MPI as _MPI

        MPI = _MPI
    except ImportError:
        if not quiet:
            raise
    return MPI


class MPIPool(BasePool):
    """A processing pool that distributes tasks using MPI."""

    def __init__(self, comm=None):
        MPI = _import_mpi()
        self.comm = MPI.COMM_WORLD if comm is None else comm
        self.master = 0
        self.rank = self.comm.Get_rank()
        atexit.register(lambda: MPIPool.close(self))
        if not self.is_master():
            return
        self.workers = set(range(self.comm.size))
        self.workers.discard(self.master)
        self.size = self.comm.Get_size() - 1
        if self.size == 0:
            raise ValueError("Tried to create an MPI pool, but there was only one MPI process available.")

    @staticmethod
    def enabled():
        return _import_mpi(quiet=True) is not None and MPI.COMM_WORLD.size > 1

    def wait(self, callback=None):
        if self.is_master():
            return
        status = MPI.Status()
        while True:
            task = self.comm.recv(source=self.master, tag=MPI.ANY_TAG, status=status)
            if task is None:
                break
            func, arg = task
            self.comm.ssend(func(arg), self.master, status.tag)

    def map(self, worker, tasks, callback=None):
        workerset = self.workers.copy()
        pending = [(i, (worker, arg)) for i, arg in enumerate(tasks)]
        resultlist = [None] * len(pending)
        left = len(pending)
        while left:
            if workerset and pending:
                w = workerset.pop()
                taskid, task = pending.pop()
                log.debug("Sent task %s to worker %s", taskid, w)
                self.comm.send(task, dest=w, tag=taskid)
            status = MPI.Status()
            if not self.comm.Iprobe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status):
                continue
            result = self.comm.recv(source=status.source, tag=status.tag)
            resultlist[status.tag] = result
            workerset.add(status.source)
            left -= 1
        return resultlist

    def close(self):
        if self.is_worker() or getattr(self, "closed", False):
            return
        self.closed = True
        for worker in self.workers:
            self.comm.send(None, worker, 0)
