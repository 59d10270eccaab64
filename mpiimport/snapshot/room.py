"""Room for an image in the place of kept stores."""

from mpiimport.runtime.options import from_environment
from mpiimport.runtime.size import in_words
from mpiimport.runtime.store.memory import room
from mpiimport.runtime.store.place import STORES, Place

from .memory_map import Refused


def make_room(directory: str, needed: int) -> None:
    """See that an image of so many bytes may come into a place, by its directory. Raises Refused."""
    options, place = from_environment(), Place(directory)
    place.make_room(needed, options)
    left = room(place.path(STORES), options.store_size, place.size())
    if needed > left:
        raise Refused(
            f"it needs {in_words(needed)}, and {in_words(left)} may be taken in {directory}; give it more by "
            "MPIIMPORT_STORE_SIZE, or another directory by MPIIMPORT_STORE"
        )
