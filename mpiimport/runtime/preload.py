"""Libraries whose symbols MPI's own plugins are to see (dlopen(3), RTLD_GLOBAL)."""

import os


def load_globally(libraries: tuple[str, ...]) -> None:
    """Load those that are paths, before mpi4py loads anything. Raises OSError, or ImportError without ``_ctypes``."""
    for library in libraries:
        if "/" in library:
            _dlopen(library, os.RTLD_NOW | os.RTLD_GLOBAL)


def make_global(libraries: tuple[str, ...]) -> None:
    """Make those that are file names global where mpi4py has loaded them; the others are passed over.

    They are not searched for: what is found could be a second copy, or belong to another MPI.
    """
    for library in libraries:
        if "/" not in library:
            _promote(library)


def _promote(library: str) -> None:
    try:
        _dlopen(library, os.RTLD_NOW | os.RTLD_GLOBAL | os.RTLD_NOLOAD)
    except (ImportError, OSError):
        pass


def _dlopen(library: str, flags: int) -> None:
    import _ctypes

    _ctypes.dlopen(library, flags)
