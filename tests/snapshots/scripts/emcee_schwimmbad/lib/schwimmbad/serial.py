from .pool import BasePool

__all__ = ["SerialPool"]


class SerialPool(BasePool):
    @staticmethod
    def enabled():
        return True

    def map(self, func, iterable, callback=None):
        return list(map(func, iterable))
