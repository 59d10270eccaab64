import signal
import functools
import multiprocessing
from multiprocessing.pool import Pool

__all__ = ["MultiPool"]


def _initializer_wrapper(actual_initializer, *rest):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if actual_initializer is not None:
        actual_initializer(*rest)


class MultiPool(Pool):
    def __init__(self, processes=None, initializer=None, initargs=(), **kwargs):
        new_initializer = functools.partial(_initializer_wrapper, initializer)
        super().__init__(processes, new_initializer, initargs, **kwargs)
        self.size = processes or multiprocessing.cpu_count()

    @staticmethod
    def enabled():
        return True
