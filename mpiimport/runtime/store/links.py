"""What lies beside MPI's libraries: in a store, links to it stand beside their copies.

So MPI finds by the place of a copy what it finds by that of the original: plugins, settings, programs.
"""

import marshal

from .. import os
from .store import LIBRARIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .store import Store

# The file of a store that says which links these are: directory -> name -> where it leads.
LINKS = "links"


def pack(beside: dict[str, dict[str, str]]) -> bytes:
    return marshal.dumps(beside)


def link_beside(store: "Store") -> None:
    """Make the links in a complete store. Raises OSError."""
    try:
        beside: dict[str, dict[str, str]] = marshal.loads(store.read(LINKS))
    except FileNotFoundError:
        return
    for directory, links in beside.items():
        copies = store.path(LIBRARIES + directory)
        # Libraries may have been left out for want of room.
        held = os.listdir(copies) if os.path.isdir(copies) else links
        for name in links.keys() - held:
            os.symlink(links[name], os.path.join(copies, name))
