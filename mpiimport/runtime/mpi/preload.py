"""Libraries whose symbols MPI's own plugins are to see (dlopen(3), RTLD_GLOBAL)."""

from .. import os
from ..c_functions import open_library


def load_globally(libraries: tuple[str, ...]) -> None:
    """Load those that are paths, before mpi4py loads anything. Raises OSError, or ImportError without ``_ctypes``."""
    for library in libraries:
        if "/" in library:
            open_library(library, os.RTLD_LAZY | os.RTLD_GLOBAL)


def make_global(libraries: tuple[str, ...]) -> None:
    """Make those that are file names global where mpi4py has loaded them; the others are passed over.

    They are not searched for: what is found could be a second copy, or belong to another MPI.
    """
    for library in libraries:
        if "/" not in library:
            _promote(library)


def _promote(library: str) -> None:
    try:
        open_library(library, os.RTLD_LAZY | os.RTLD_GLOBAL | os.RTLD_NOLOAD)
    except (ImportError, OSError):
        pass
