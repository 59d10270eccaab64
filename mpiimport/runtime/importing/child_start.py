"""A process that imports from a node's store without MPI: a child of a rank. It holds the lock as ranks do."""

import atexit
import sys

from ..mpi.abrupt_ends import before_abrupt_ends
from ..store.index import attach
from ..store.store import Store
from .account import Account
from .children import own_words
from .imports import Imports
from .site_answers import Answers


def attach_child(directory: str, lasting: bool) -> None:
    """Import from the store in ``directory`` from now on. Raises OSError or Damaged, and is then not attached.

    ``lasting``: it outlives its users.
    """
    sys.orig_argv[:] = own_words(sys.orig_argv)
    store = Store.join(directory, lasting)
    if store is None:
        return
    try:
        index, _ = attach(store)
    except BaseException:
        store.leave()
        raise
    Imports(index, store, None, Answers(), frozenset(), Account(set(sys.modules), rank=0, verbose=False)).install()
    before_abrupt_ends(lambda becomes: store.leave())
    atexit.register(store.leave)
