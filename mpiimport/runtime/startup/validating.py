"""A process that validates what the cache has for its program, as it sees that, and does not run it.

`mpiimport session status` and `refresh` start the command once more that has filled a store: a container mounts an
image anew, and only in it the paths mean what they meant.
"""

from .. import open, os, time
from ..store.cache import Cache
from ..store.dependencies import DEPENDENCIES, Dependencies
from ..store.index import Index
from ..store.origin import write_found
from .cache_filling import end_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .invocation import Invocation


def validate_now(invocation: "Invocation") -> None:
    """Validate the store for this program, leave word in it, and end this process. Does not return."""
    end_after(lambda: _validate(invocation))


def _validate(invocation: "Invocation") -> None:
    """Raises OSError and Damaged."""
    asked = time.monotonic_ns()
    options = invocation.options
    cache = Cache.find(options.store_places(), options.session)
    if cache is None:
        return
    store = cache.target(invocation.key())
    if store:
        index = Index.unpack(_read(store, "index"))
        dependencies = Dependencies.unpack(_read(store, DEPENDENCIES), index.dependencies)
        changed = next(dependencies.changed(), "")
        write_found(store, asked, f"{changed} has changed since" if changed else "")


def _read(store: str, name: str) -> bytes:
    with open(os.path.join(store, name), "rb") as stream:
        return stream.read()
